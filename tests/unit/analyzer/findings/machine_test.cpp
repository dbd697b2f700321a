// Findings about what the operating system says of the node.
#include "findings_fixture.h"

namespace beamdump::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
