#include "support/child_process.h"
#include "support/temporary_directory.h"

#include <libvm/target/process/proc_directory.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <sched.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;

constexpr auto kStat =
    "4242 (a) b (c) S 17 4242 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 21 0 987654 1 2 3 4 5\n";
constexpr auto kStatus =
    "Name:\ta) b (c\nState:\tS (sleeping)\nTgid:\t4242\nNgid:\t0\nPid:\t4242\nPPid:\t17\n"
    "TracerPid:\t99\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nCapPrm:\t00000000000000ff\n"
    "CapEff:\t0000000000080000\n";

TEST(ProcessFacts, AreReadWhateverTheNameLooksLike) {
    const auto facts = parse_process_facts(kStat, kStatus).value();
    EXPECT_EQ(facts.name, "a) b (c");
    EXPECT_EQ(facts.state, 'S');
    EXPECT_EQ(facts.parent, 17);
    EXPECT_EQ(facts.thread_group, 4242);
    EXPECT_EQ(facts.tracer, 99);
    EXPECT_FALSE(facts.kernel_thread);
    EXPECT_EQ(facts.start_ticks, 987654U);
    EXPECT_EQ(facts.real_uid, 1U);
    EXPECT_EQ(facts.effective_uid, 2U);
    EXPECT_EQ(facts.saved_uid, 3U);
    EXPECT_EQ(facts.effective_gid, 6U);
    EXPECT_EQ(facts.permitted_capabilities, 0xffU);
    EXPECT_EQ(facts.effective_capabilities, 0x80000U);
}

TEST(ProcessFacts, AreRefusedWhereAPartIsMissing) {
    EXPECT_EQ(parse_process_facts("", kStatus).error().code, ErrorCode::kImplausible);
    EXPECT_EQ(parse_process_facts("1 (x) S 1", kStatus).error().code, ErrorCode::kImplausible);
    EXPECT_EQ(parse_process_facts(kStat, "Tgid:\t1\n").error().code, ErrorCode::kImplausible);
    EXPECT_EQ(parse_process_facts(")(", kStatus).error().code, ErrorCode::kImplausible);
}

TEST(ProcDirectory, KnowsAChild) {
    ChildProcess child([] {});
    const auto process = ProcDirectory::open(child.pid()).value();
    const auto facts = process.facts().value();
    EXPECT_EQ(facts.parent, ::getpid());
    EXPECT_EQ(facts.effective_uid, ::geteuid());
    EXPECT_FALSE(facts.dead());
    EXPECT_EQ(process.link("exe").value(),
              ProcDirectory::open(::getpid()).value().link("exe").value());
    const auto longer = process.read("maps", 10);
    EXPECT_EQ(longer.error().code, ErrorCode::kLimit);
}

TEST(ProcDirectory, StaysWithItsProcess) {
    ChildProcess child([] {});
    const auto process = ProcDirectory::open(child.pid()).value();
    child.kill();
    EXPECT_EQ(process.facts().error().code, ErrorCode::kTargetDied);
    EXPECT_EQ(ProcDirectory::open(process.pid()).error().code, ErrorCode::kNotFound);
}

/// How a child ends that asks for the error of check_proc() after `enter`: 0 if it has `part`.
int checked_after(const std::function<bool()>& enter, std::string_view part) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!enter()) {
            ::_exit(2);
        }
        const auto checked = check_proc();
        ::_exit(!checked && checked.error().message.contains(part) &&
                        ProcDirectory::open(::getpid()).error().code == ErrorCode::kUnsupported
                    ? 0
                    : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CheckProc, AcceptsTheProcOfThisNamespace) {
    EXPECT_TRUE(check_proc());
}

TEST(CheckProc, AnotherPidNamespacesIsNotUsed) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to make a PID namespace";
    }
    const auto enter = [] {
        if (::unshare(CLONE_NEWPID) != 0) {
            return false;
        }
        // The next child is in it.
        const pid_t inside = ::fork();
        if (inside == 0) {
            return true;
        }
        int status = -1;
        ::waitpid(inside, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    };
    EXPECT_EQ(checked_after(enter, "/proc is that of another PID namespace"), 0);
}

TEST(CheckProc, ThatItIsMissingIsSaid) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to change the root directory";
    }
    const beamdump::test::TemporaryDirectory empty;
    EXPECT_EQ(checked_after([&] { return ::chroot(empty.path().c_str()) == 0; },
                            "/proc is not mounted here"),
              0);
}

}  // namespace
}  // namespace beamdump::target
