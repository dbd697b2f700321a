#include "threads/collect_threads.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sys/syscall.h>

namespace beamdump::sampler {
namespace {

TEST(ThreadRole, IsThatOfTheNameInEachRelease) {
    const std::vector<std::pair<std::string_view, ThreadRole>> names = {
        {"1_scheduler", {ThreadKind::kScheduler, 1}},
        {"erts_sched_12", {ThreadKind::kScheduler, 12}},
        {"3_dirty_cpu_sch", {ThreadKind::kDirtyCpu, 3}},
        {"erts_dcpus_2", {ThreadKind::kDirtyCpu, 2}},
        {"10_dirty_io_sch", {ThreadKind::kDirtyIo, 10}},
        {"erts_dios_10", {ThreadKind::kDirtyIo, 10}},
        {"1_aux", {ThreadKind::kAux, 1}},
        {"erts_aux_1", {ThreadKind::kAux, 1}},
        {"0_poller", {ThreadKind::kPoll, 0}},
        {"erts_poll_0", {ThreadKind::kPoll, 0}},
        {"async_1", {ThreadKind::kAsync, 1}},
        {"erts_async_64", {ThreadKind::kAsync, 64}},
        {"sys_sig_dispatc", {ThreadKind::kSignals, 0}},
        {"erts_ssig_disp", {ThreadKind::kSignals, 0}},
        {"sys_msg_dispatc", {ThreadKind::kMessages, 0}},
        {"erts_smsg_disp", {ThreadKind::kMessages, 0}},
        {"runq_supervisor", {ThreadKind::kRunQueues, 0}},
        {"erts_runq_sup", {ThreadKind::kRunQueues, 0}},
        {"beam.smp", {}},
        {"_aux", {}},
        {"async_", {}},
        {"async_1x", {}},
        {"erts_aux_99999999999", {}},
        {"", {}},
    };
    for (const auto& [name, role] : names) {
        EXPECT_EQ(role_of_name(name), role) << name;
    }
}

TEST(ThreadRole, OfOneNameTheFirstThreadHasIt) {
    const std::vector<NodeThread> threads = {{40, "1_scheduler"},
                                             {12, "1_scheduler"},
                                             {10, "beam.smp"},
                                             {41, "beam.smp"},
                                             {13, "async_1"}};
    const auto roles = roles_of(10, threads);
    EXPECT_EQ(roles.at(10).kind, ThreadKind::kMain);
    EXPECT_EQ(roles.at(12), (ThreadRole{ThreadKind::kScheduler, 1}));
    EXPECT_EQ(roles.at(13), (ThreadRole{ThreadKind::kAsync, 1}));
    EXPECT_EQ(roles.at(40), ThreadRole{});
    EXPECT_EQ(roles.at(41), ThreadRole{});
}

SystemCall futex(std::uint64_t operation, std::uint64_t value) {
    return {SYS_futex, {0x7f0000001000, operation, value}};
}

constexpr std::uint64_t kWaitPrivate = 0x80;
constexpr std::uint64_t kWaitBitsetPrivate = 0x189;

TEST(ThreadWait, IsThatOfTheSystemCall) {
    EXPECT_EQ(wait_of(std::nullopt).what, WaitsFor::kNone);
    EXPECT_EQ(wait_of(futex(kWaitPrivate, 0xffffffff)),
              (ThreadWait{.what = WaitsFor::kEvent, .call = "futex", .event = 0x7f0000000ff0}));
    EXPECT_EQ(wait_of(futex(kWaitBitsetPrivate, 0xffffffff)),
              (ThreadWait{.what = WaitsFor::kFutex, .call = "futex", .address = 0x7f0000001000}));
    EXPECT_EQ(wait_of(SystemCall{SYS_read, {7}}),
              (ThreadWait{.what = WaitsFor::kDescriptor, .call = "read", .descriptor = 7}));
    EXPECT_EQ(wait_of(SystemCall{SYS_epoll_wait, {4}}),
              (ThreadWait{.what = WaitsFor::kReady, .call = "epoll_wait"}));
    EXPECT_EQ(wait_of(SystemCall{9999, {}}),
              (ThreadWait{.what = WaitsFor::kOther, .call = "system call 9999"}));
}

TEST(ThreadWait, IsForAMutexOnlyInWhatLocksOne) {
    const std::vector<std::string> locks = {"__lll_lock_wait", "pthread_mutex_lock@@GLIBC_2.2.5"};
    const std::vector<std::string> allocates = {"__lll_lock_wait_private", "malloc", "work"};
    EXPECT_TRUE(waits_for_mutex(futex(kWaitPrivate, 2), locks));
    EXPECT_FALSE(waits_for_mutex(futex(kWaitPrivate, 1), locks));
    EXPECT_FALSE(waits_for_mutex(futex(kWaitBitsetPrivate, 2), locks));
    EXPECT_FALSE(waits_for_mutex(futex(kWaitPrivate, 2), allocates));
    EXPECT_FALSE(waits_for_mutex(std::nullopt, locks));
    std::vector<std::string> far(4, "other");
    far.emplace_back("pthread_mutex_lock");
    EXPECT_FALSE(waits_for_mutex(futex(kWaitPrivate, 2), far));
}

std::optional<std::uint64_t> owner(std::uint32_t lock, std::uint32_t stored) {
    const std::array<std::uint32_t, 3> words = {lock, 0, stored};
    std::array<std::byte, 12> bytes{};
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return mutex_owner(bytes);
}

TEST(ThreadWait, AMutexThatIsNotHeldHasNoOwner) {
    EXPECT_EQ(owner(2, 4242), 4242U);
    EXPECT_FALSE(owner(2, 0));
    EXPECT_FALSE(owner(1, 4242));
    EXPECT_FALSE(owner(0, 4242));
}

TEST(ThreadFacts, ASchedulerSpinsWithoutWorkForAPartOfTheTime) {
    constexpr std::int64_t kTook = 1'000'000'000;
    ThreadFacts thread{.role = {ThreadKind::kScheduler, 1},
                       .ran_ns = kTook / 2,
                       .samples = 50,
                       .without_work = 50};
    EXPECT_TRUE(thread.spins(kTook));
    thread.without_work = 44;
    EXPECT_FALSE(thread.spins(kTook)) << "it has work";
    thread.without_work = 45;
    thread.ran_ns = kTook / 5;
    EXPECT_FALSE(thread.spins(kTook)) << "it looked for work now and then";
    thread.delayed_ns = kTook / 10;
    EXPECT_TRUE(thread.spins(kTook)) << "it waited for a processor";
    thread.role = {};
    EXPECT_FALSE(thread.spins(kTook)) << "it is no scheduler";
    thread = {
        .role = {ThreadKind::kScheduler, 1}, .ran_ns = kTook, .samples = 4, .without_work = 4};
    EXPECT_FALSE(thread.spins(kTook)) << "few samples";
}

}  // namespace
}  // namespace beamdump::sampler
