#include "support/child_process.h"

#include <libvm/memory/process_memory.h>
#include <libvm/target/stop/stop_tracker.h>
#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/twin.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::HasSubstr;

constexpr std::uint64_t kBefore = 0x1111;
constexpr std::uint64_t kAfter = 0x2222;

/// The shared memory between test and child.
struct Shared {
    std::atomic<std::uint64_t> private_address;
    std::atomic<bool> change;
    std::atomic<bool> changed;
};

/// A child with private memory, and a thread "reader" that waits in read(2).
class TwinTest : public ::testing::Test {
  protected:
    TwinTest()
        : shared_(static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        child_ = std::make_unique<ChildProcess>([this] { live(); });
        limits_.threads = {"reader"};
        limits_.copied_bytes = 1U << 20U;
    }
    ~TwinTest() override {
        child_.reset();
        ::munmap(shared_, sizeof(Shared));
    }

    void live() const {
        static volatile std::uint64_t value = kBefore;
        int silent[2] = {-1, -1};
        if (::pipe(silent) != 0) {
            ::_exit(1);
        }
        static std::atomic<bool> reads;
        std::thread([end = silent[0]] {
            ::pthread_setname_np(::pthread_self(), "reader");
            char byte = 0;
            reads = true;
            [[maybe_unused]] const auto got = ::read(end, &byte, 1);
        }).detach();
        std::thread([shared = shared_] {
            while (!shared->change) {
                ::usleep(1000);
            }
            value = kAfter;
            shared->changed = true;
            ::pause();
        }).detach();
        while (!reads) {
            ::usleep(1000);
        }
        shared_->private_address = reinterpret_cast<std::uint64_t>(&value);
    }

    [[nodiscard]] std::size_t threads() const {
        const auto task =
            std::filesystem::directory_iterator(fmt::format("/proc/{}/task", child_->pid()));
        return static_cast<std::size_t>(std::distance(begin(task), end(task)));
    }
    [[nodiscard]] std::uint64_t value_in(pid_t pid) const {
        auto memory = memory::ProcessMemory::open(pid, memory::ReadWay::kProcMem).value();
        return memory->word(shared_->private_address).value();
    }

    Shared* shared_;
    std::unique_ptr<ChildProcess> child_;
    TwinLimits limits_;
};

TEST_F(TwinTest, KeepsTheMomentWhileTheProcessRunsOn) {
    auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    EXPECT_EQ(twin->stop_cost().threads, 3U);
    EXPECT_GT(twin->stop_cost().length_ns, 0);
    shared_->change = true;
    while (!shared_->changed) {
        ::usleep(1000);
    }
    EXPECT_EQ(value_in(child_->pid()), kAfter);
    EXPECT_EQ(value_in(twin->pid()), kBefore);
    EXPECT_TRUE(twin->check());
    EXPECT_EQ(threads(), 4U);
    const auto removed = twin->remove();
    EXPECT_TRUE(removed) << removed.error().message;
    EXPECT_EQ(threads(), 3U);
    EXPECT_FALSE(process_facts(twin->pid()));
    EXPECT_TRUE(twin->remove());
}

TEST_F(TwinTest, IsTheFirstToGoWhenMemoryRunsOut) {
    const auto child = ProcDirectory::open(child_->pid()).value();
    const auto before = child.read("oom_score_adj").value();
    const auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    EXPECT_EQ(ProcDirectory::open(twin->pid())->read("oom_score_adj").value(), "1000\n");
    EXPECT_EQ(child.read("oom_score_adj").value(), before);
}

TEST_F(TwinTest, IsRemovedByItsDestructorAndCanBeMadeAgain) {
    for (int i = 0; i < 10; ++i) {
        auto twin = Twin::make(child_->pid(), limits_);
        ASSERT_TRUE(twin) << twin.error().message;
        const auto moved = std::move(*twin);
        EXPECT_EQ(threads(), 4U);
    }
    EXPECT_EQ(threads(), 3U);
}

TEST_F(TwinTest, OnlyOneAtATime) {
    const auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    const auto second = Twin::make(child_->pid(), limits_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kExists);
    EXPECT_EQ(threads(), 4U);
}

TEST_F(TwinTest, OneThatWasKilledIsToldOf) {
    auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    ::kill(twin->pid(), SIGKILL);
    ::usleep(20000);
    const auto checked = twin->check();
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("was killed"));
    EXPECT_TRUE(twin->remove());
    EXPECT_EQ(threads(), 3U);
}

TEST_F(TwinTest, IsGivenUpWhenTooLittleIsLeft) {
    limits_.floor_bytes = std::uint64_t{1} << 60U;
    auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    // Without a request.
    for (int i = 0; i < 10000 && !process_facts(twin->pid())->dead(); ++i) {
        ::usleep(1000);
    }
    EXPECT_TRUE(process_facts(twin->pid())->dead());
    const auto checked = twin->check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kLimit);
    EXPECT_THAT(checked.error().message, HasSubstr("of free memory"));
}

TEST_F(TwinTest, TheProcessMayDieBeforeIt) {
    auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    const auto pid = child_->pid();
    child_->kill();
    const auto checked = twin->check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kTargetDied);
    EXPECT_THAT(checked.error().message, HasSubstr(std::to_string(pid)));
    EXPECT_TRUE(twin->remove());
    EXPECT_FALSE(process_facts(twin->pid()));
}

TEST_F(TwinTest, IsRefusedWhereItsForkAloneTakesTooLong) {
    limits_.longest_stop = std::chrono::nanoseconds(1);
    StopTracker stops;
    limits_.stops = &stops;
    const auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_FALSE(twin);
    EXPECT_EQ(twin.error().code, ErrorCode::kLimit);
    EXPECT_THAT(twin.error().message, HasSubstr("use mode snapshot"));
    EXPECT_TRUE(stops.costs().empty());
}

TEST_F(TwinTest, TellsTheCostOfItsStop) {
    StopTracker stops;
    limits_.stops = &stops;
    const auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    const auto costs = stops.costs();
    ASSERT_EQ(costs.size(), 1U);
    EXPECT_EQ(costs.front().threads, 3U);
    EXPECT_EQ(costs.front().length_ns, twin->stop_cost().length_ns);
}

TEST_F(TwinTest, IsNotMadeOfWhatIsNotWorthIt) {
    int asked = 0;
    const Settling settling{.certain = [](const ThreadRegisters&) { return true; },
                            .worth =
                                [&asked](std::span<const ThreadRegisters> threads) {
                                    EXPECT_FALSE(threads.empty());
                                    return ++asked > 2;
                                },
                            .longest = std::chrono::milliseconds(1)};
    StopTracker stops;
    limits_.stops = &stops;
    for (std::size_t attempt = 1; attempt <= 2; ++attempt) {
        const auto refused = Twin::make(child_->pid(), limits_, settling);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kChanged);
        EXPECT_EQ(stops.costs().size(), attempt);
        EXPECT_EQ(threads(), 3U);
    }
    EXPECT_TRUE(Twin::make(child_->pid(), limits_, settling));
    EXPECT_EQ(asked, 3);
}

/// Another stop would have no time: what stands is taken.
TEST_F(TwinTest, IsMadeOfWhatStandsWhereNoOtherStopHasTime) {
    const Settling settling{.certain = [](const ThreadRegisters&) { return true; },
                            .enough = {},
                            .restless = [](std::span<const ThreadRegisters>) -> std::vector<pid_t> {
                                ::usleep(1'500'000);
                                return {};
                            },
                            .worth = [](std::span<const ThreadRegisters>) { return false; },
                            .longest = std::chrono::milliseconds(1)};
    limits_.longest_stop = std::chrono::seconds(4);
    const auto twin = Twin::make(child_->pid(), limits_, settling);
    EXPECT_TRUE(twin) << twin.error().message;
}

TEST_F(TwinTest, LeavesAStoppedProcessItsOwnRemains) {
    auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_TRUE(twin) << twin.error().message;
    ::kill(child_->pid(), SIGSTOP);
    for (int i = 0; i < 10000 && process_facts(twin->reaper())->state != 'T'; ++i) {
        ::usleep(1000);
    }
    const auto remains = twin->remove();
    ASSERT_TRUE(remains) << remains.error().message;
    EXPECT_EQ(*remains, Twin::Remains::kUntilNodeGoesOn);
    EXPECT_TRUE(process_facts(twin->pid())->dead());
    ::kill(child_->pid(), SIGCONT);
    for (int i = 0; i < 10000 && threads() != 3; ++i) {
        ::usleep(1000);
    }
    EXPECT_EQ(threads(), 3U);
    EXPECT_FALSE(process_facts(twin->pid()));
}

TEST_F(TwinTest, WithoutAThreadToBorrow) {
    limits_.threads = {"nobody"};
    const auto twin = Twin::make(child_->pid(), limits_);
    ASSERT_FALSE(twin);
    EXPECT_EQ(twin.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(twin.error().message, HasSubstr("no thread named nobody"));
}

TEST(Twin, IsAnErrorForNoProcess) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    EXPECT_EQ(Twin::make(pid).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace beamdump::target
