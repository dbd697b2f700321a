// Findings about what the operating system says of the node.
#include "findings_fixture.h"

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Machine : public FindingsFixture {
  protected:
    query::Findings with(const records::SystemMemory& system, const std::string& state = "S") {
        SampleLayout layout;
        layout.process_state = state;
        SampleDump dump(1'700'000'100'000'000, layout);
        dump.add(alpha_process());
        dump.builder().trailer().set_system_memory_offset(
            dump.builder().append(format::RecordKind::kSystemMemory, system));
        return look(dump);
    }
    static records::MemoryCgroup cgroup(std::uint64_t used, std::uint64_t kills) {
        records::MemoryCgroup cgroup;
        cgroup.set_name("/shop");
        cgroup.set_used_bytes(used * kMebi);
        cgroup.set_inactive_file_bytes(10 * kMebi);
        cgroup.set_limit_bytes(100 * kMebi);
        cgroup.set_oom_kills(kills);
        return cgroup;
    }
};

TEST_F(Machine, AStoppedNodeIsTold) {
    EXPECT_THAT(found(with({}, "T"), "stopped_node"),
                ElementsAre("The node was stopped by a signal (SIGSTOP, SIGTSTP) before the "
                            "capture began: nothing runs in it until SIGCONT."));
    EXPECT_THAT(found(with({}, "S"), "stopped_node"), IsEmpty());
    EXPECT_EQ(left_out(with({}, "S"), "stopped_node"), "");
}

TEST_F(Machine, ACgroupThatIsFullIsTold) {
    records::SystemMemory system;
    *system.add_cgroup() = cgroup(100, 0);
    EXPECT_THAT(found(with(system), "cgroup_memory"),
                ElementsAre("The memory cgroup /shop is 90% full (working set 90.0 MiB of 100.0 "
                            "MiB); when it is full, the OOM killer ends a process."));
    *system.mutable_cgroup(0) = cgroup(99, 0);
    EXPECT_THAT(found(with(system), "cgroup_memory"), IsEmpty());
    EXPECT_EQ(left_out(with(system), "cgroup_memory"), "");
    EXPECT_EQ(left_out(with({}), "cgroup_memory"), "the dump has no memory cgroups");
}

TEST_F(Machine, KillsAreToldOnce) {
    records::SystemMemory system;
    *system.add_cgroup() = cgroup(50, 2);
    *system.add_cgroup() = cgroup(50, 2);
    EXPECT_THAT(found(with(system), "cgroup_memory"),
                ElementsAre("The OOM killer has ended 2 processes in the memory cgroup /shop."));
}

class Versions : public FindingsFixture {
  protected:
    query::Findings of(const std::string& otp, const std::string& system = {}) {
        SampleLayout layout;
        layout.otp_version = otp;
        layout.system_version = system;
        SampleDump dump(1'700'000'100'000'000, layout);
        dump.add(alpha_process());
        return look(dump);
    }
};

TEST_F(Versions, AReleaseCandidateIsTold) {
    constexpr std::string_view kWhy =
        ": not a release, but what was tried before it. Its faults may be mended in the release.";
    EXPECT_THAT(found(of("28.0-rc1"), "release_candidate"),
                ElementsAre(std::string("The node runs OTP 28.0-rc1").append(kWhy)));
    EXPECT_THAT(
        found(of("", "Erlang/OTP 28 [RELEASE CANDIDATE 3] [erts-15.2.2] [source]"),
              "release_candidate"),
        ElementsAre(std::string("The node runs OTP 25 [RELEASE CANDIDATE 3]").append(kWhy)));
    EXPECT_THAT(found(of("", "Erlang/OTP 30 [DEVELOPMENT] [erts-17.2]"), "release_candidate"),
                ElementsAre(std::string("The node runs OTP 25 [DEVELOPMENT]").append(kWhy)));
}

TEST_F(Versions, AReleaseIsNotTold) {
    for (const auto& findings :
         {of("25.2.3"), of("", "Erlang/OTP 25 [erts-13.1.5] [source] [64-bit]")}) {
        EXPECT_THAT(found(findings, "release_candidate"), IsEmpty());
        EXPECT_EQ(left_out(findings, "release_candidate"), "");
    }
    EXPECT_EQ(left_out(of(""), "release_candidate"),
              "the dump does not tell which version of OTP it is");
}

class StartsOfProcesses : public FindingsFixture {
  protected:
    /// A node that was captured for half a second.
    struct Work {
        std::uint32_t started = 0;
        std::uint64_t reductions_of_each = 0;
        std::uint64_t processor_ms = 0;
        int fresh = 0;  ///< processes that run and have done one reduction less than a start
    };
    query::Findings after(const Work& work) {
        SampleDump dump;
        SampleProcess process;
        for (int number = 0; number < work.fresh; ++number) {
            process.number = 100 + static_cast<std::uint64_t>(number);
            process.void_reason = records::VOID_REASON_RUNNING;
            process.reductions = 106;
            dump.add(process);
        }
        process.number = 99;
        process.reductions = 107;
        dump.add(process);
        auto& meanwhile = *dump.builder().trailer().mutable_meanwhile();
        meanwhile.set_ran_ns(500'000'000);
        meanwhile.set_processes_started(work.started);
        meanwhile.set_reductions(work.started * work.reductions_of_each);
        meanwhile.set_processor_ns(work.processor_ms * 1'000'000);
        return look(dump);
    }
};

TEST_F(StartsOfProcesses, ProcessesThatEndAtOnceAreToldWithTheirKind) {
    const std::string sentence =
        "100,000 processes are started a second, and end as soon as they have begun: the node did "
        "116 reductions for each of 50,000, and a process that does nothing takes 107.";
    EXPECT_THAT(found(after({50'000, 116, 900}), "process_starts"), ElementsAre(sentence));
    EXPECT_THAT(found(after({50'000, 116, 900, 3}), "process_starts"),
                ElementsAre(sentence + " Of 3 that had hardly run, 3 are demo:loop/1."));
}

TEST_F(StartsOfProcesses, ThatWorkAreNotTold) {
    EXPECT_THAT(found(after({1'000, 213, 50}), "process_starts"), SizeIs(1));
    for (const auto& work :
         {Work{1'000, 214, 50}, Work{1'000, 213, 49}, Work{999, 213, 50}, Work{}}) {
        const auto findings = after(work);
        EXPECT_THAT(found(findings, "process_starts"), IsEmpty()) << work.started;
        EXPECT_EQ(left_out(findings, "process_starts"), "");
    }
}

TEST_F(StartsOfProcesses, AreNotKnownOfADumpThatDoesNotCountThem) {
    SampleDump dump;
    dump.add(alpha_process());
    EXPECT_EQ(left_out(look(dump), "process_starts"),
              "the dump does not tell how many processes were started meanwhile, and what work the "
              "node did");
}

class Sockets : public FindingsFixture {
  protected:
    query::Findings with(int number, const records::Socket& socket) {
        SampleDump dump;
        dump.add(alpha_process());
        records::Sockets page;
        for (int i = 0; i < number; ++i) {
            *page.add_socket() = socket;
        }
        dump.builder().trailer().add_sockets_offset(
            dump.builder().append(format::RecordKind::kSockets, page));
        return look(dump);
    }
};

TEST_F(Sockets, ThoseThatTheNodeDoesNotCloseAreTold) {
    records::Socket socket;
    socket.set_state("CLOSE_WAIT");
    EXPECT_THAT(found(with(100, socket), "sockets"),
                ElementsAre("100 sockets are in CLOSE_WAIT: the other side has closed them, and "
                            "the node has not."));
    const auto few = with(99, socket);
    EXPECT_THAT(found(few, "sockets"), IsEmpty());
    EXPECT_EQ(left_out(few, "sockets"), "");
    EXPECT_EQ(left_out(with(0, socket), "sockets"), "");
}

TEST_F(Sockets, UnreadAndUnsentBytesAreFindings) {
    records::Socket socket;
    socket.set_receive_queue_bytes(16 * kMebi);
    EXPECT_THAT(found(with(2, socket), "sockets"),
                ElementsAre("32.0 MiB have arrived in sockets, and the node has not read them."));
    EXPECT_THAT(found(with(1, socket), "sockets"), IsEmpty());
    socket.Clear();
    socket.set_send_queue_bytes(32 * kMebi);
    EXPECT_THAT(found(with(1, socket), "sockets"),
                ElementsAre("32.0 MiB were sent to sockets, and the other sides have not taken "
                            "them."));
    socket.Clear();
    socket.set_waiting(100);
    socket.set_local("0.0.0.0:8080");
    EXPECT_THAT(found(with(1, socket), "sockets"),
                ElementsAre("100 connections wait to be accepted at 0.0.0.0:8080."));
}

TEST_F(Machine, MemoryThatWasGivenBackIsNoLeak) {
    records::SystemMemory system;
    system.set_resident_bytes(160 * kMebi);
    system.set_lazy_free_bytes(40 * kMebi);
    EXPECT_THAT(found(with(system), "lazy_free"),
                ElementsAre("40.0 MiB of 160.0 MiB of resident memory (25%) were given back and "
                            "stay until the kernel needs them (LazyFree): no leak."));
    system.set_lazy_free_bytes(39 * kMebi);
    EXPECT_THAT(found(with(system), "lazy_free"), IsEmpty());
    EXPECT_EQ(left_out(with({}), "lazy_free"), "the dump does not tell LazyFree memory");
}

}  // namespace
}  // namespace beamdump::test
