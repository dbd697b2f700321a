#include "program.h"
#include "sample_caller.h"
#include "sample_emulator.h"
#include "sample_schedulers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kSuspended = 1U << 16U;

SampleProcess suspended(std::uint64_t number) {
    SampleProcess process;
    process.number = number;
    process.status = records::PROCESS_STATUS_SUSPENDED;
    process.state_bits = kSuspended;
    return process;
}

class HangTest : public ::testing::Test {
  protected:
    std::string shown(const std::vector<std::string>& words, int status = 0) {
        std::vector<std::string> command = {"hang", "hang.beamdump"};
        command.insert(command.end(), words.begin(), words.end());
        const auto ran = program_.run(command);
        EXPECT_EQ(ran.status, status) << ran.err;
        return ran.out;
    }

    Program program_;
};

/// 2 waits for the staging permission, which 1 holds: that is suspended, and waits for thread
/// progress, which scheduler 1 holds up, as it runs 9. 12 is in a call for 2.
class HeldUp : public HangTest {
  protected:
    HeldUp() {
        SampleDump dump;
        auto& builder = dump.builder();
        records::Schedulers page;
        auto& scheduler = *page.add_scheduler();
        scheduler.set_kind(records::SCHEDULER_KIND_NORMAL);
        scheduler.set_number(1);
        scheduler.set_busy(true);
        scheduler.set_current_owner_id(format::owner_id_of(9, 0));
        builder.trailer().add_schedulers_offset(
            builder.append(format::RecordKind::kScheduler, page));
        auto holder = suspended(1);
        holder.name = kAlphaAtom;
        dump.add(holder);
        dump.add(suspended(2));
        SampleProcess runs;
        runs.number = 9;
        runs.void_reason = records::VOID_REASON_RUNNING;
        dump.add(runs);
        dump.add(caller(12, 2));
        add_emulator(builder);
        program_.put("hang.beamdump", dump.finish());
    }
};

TEST_F(HeldUp, AChainGoesAcrossKindsToWhatHoldsAllUp) {
    EXPECT_THAT(shown({"<0.12.0>"}, 3),
                ContainsRegex("  <0\\.12\\.0> demo:loop/1 \\(waiting in demo:loop/1\\)\n"
                              "  -> waits for the answer of <0\\.2\\.0> .*\n"
                              "  -> waits for the permission code_staging\n"
                              "  -> is held by <0\\.1\\.0> alpha .*\n"
                              "  -> waits for thread progress\n"
                              "  -> is held up by scheduler 1, for at least 2.*\n"
                              "  -> runs <0\\.9\\.0> demo:loop/1 \\(running in demo:loop/1\\)\n"
                              "  <0\\.9\\.0>: it runs\n"
                              "\n0 processes wait behind it\n"));
}

TEST_F(HeldUp, TheEndHasAllThatWaitBehindIt) {
    const auto text = shown({}, 3);
    EXPECT_THAT(text, HasSubstr("3 processes wait, for 1 end and in 0 cycles\n"));
    EXPECT_THAT(text, ContainsRegex("3 processes wait behind <0\\.9\\.0> demo:loop/1"));
    EXPECT_THAT(text, HasSubstr("not known:\n  types of threads: a reason\n"));
}

TEST_F(HeldUp, CallsAloneAreNoChainAcrossKinds) {
    const auto ran = program_.run({"waits", "hang.beamdump"});
    EXPECT_THAT(ran.out, HasSubstr("1 process waits for an answer of 1 process\n"));
}

/// Scheduler 1 holds up thread progress; so many processes are in its queue and in that of
/// scheduler 2, and 4 is ready to run.
std::vector<std::byte> with_queues(std::uint32_t first, std::uint32_t second) {
    SampleDump dump;
    auto& builder = dump.builder();
    records::Schedulers page;
    for (const auto& [number, length] : {std::pair{1U, first}, std::pair{2U, second}}) {
        auto& scheduler = *page.add_scheduler();
        scheduler.set_kind(records::SCHEDULER_KIND_NORMAL);
        scheduler.set_number(number);
        scheduler.set_busy(number == 1);
        auto& queue = *page.add_run_queue();
        queue.set_kind(records::SCHEDULER_KIND_NORMAL);
        queue.set_number(number);
        queue.set_length(length);
    }
    page.mutable_scheduler(0)->set_current_owner_id(format::owner_id_of(9, 0));
    builder.trailer().add_schedulers_offset(builder.append(format::RecordKind::kScheduler, page));
    SampleProcess ready;
    ready.number = 4;
    ready.status = records::PROCESS_STATUS_RUNNABLE;
    dump.add(ready);
    SampleProcess runs;
    runs.number = 9;
    runs.void_reason = records::VOID_REASON_RUNNING;
    dump.add(runs);
    add_emulator(builder);
    return dump.finish();
}

TEST_F(HangTest, WhatIsReadyMayBeInTheOnlyQueueThatIsNotEmpty) {
    program_.put("hang.beamdump", with_queues(1, 0));
    EXPECT_THAT(shown({"<0.4.0>"}, 3),
                ContainsRegex("  <0\\.4\\.0> demo:loop/1 \\(runnable in demo:loop/1\\)\n"
                              "  -> may be in the run queue of scheduler 1\n"
                              "  -> runs <0\\.9\\.0> .*\n"));
    for (const auto& [first, second] : {std::pair{1U, 1U}, std::pair{0U, 1U}, std::pair{0U, 0U}}) {
        program_.put("hang.beamdump", with_queues(first, second));
        EXPECT_THAT(shown({"<0.4.0>"}, 3), Not(HasSubstr("run queue")));
    }
}

TEST_F(HangTest, AProcessMayBeSuspendedByAnother) {
    SampleDump dump;
    auto process = suspended(2);
    records::Monitor monitor;
    monitor.set_kind(records::MONITOR_KIND_SUSPEND);
    monitor.set_is_target(true);
    monitor.set_other_word(pid_word(1));
    process.monitors = {monitor};
    dump.add(process);
    dump.add(alpha_process());
    program_.put("hang.beamdump", dump.finish());
    const auto text = shown({"<0.2.0>"});
    EXPECT_THAT(text, HasSubstr("-> is suspended by <0.1.0> alpha (waiting in demo:loop/1)\n"));
    EXPECT_THAT(text, HasSubstr("<0.1.0>: it waits for a message, and the dump does not tell from "
                                "whom; 2 messages are in its queue\n"));
    EXPECT_THAT(text, HasSubstr("not known:\n  the dump has no state of the emulator"));
}

TEST_F(HangTest, ACycleIsNamed) {
    SampleDump dump;
    dump.add(caller(21, 22));
    dump.add(caller(22, 21));
    dump.add(caller(23, 21));
    program_.put("hang.beamdump", dump.finish());
    auto text = shown({});
    EXPECT_THAT(text, HasSubstr("3 processes wait, for 0 ends and in 1 cycle\n"));
    EXPECT_THAT(text, ContainsRegex("A cycle of waits, and 1 process waits behind it\n"
                                    "  <0\\.21\\.0> .*\n"
                                    "  -> waits for the answer of <0\\.22\\.0> .*\n"
                                    "  -> waits for the answer of <0\\.21\\.0>\n"));
    text = shown({"<0.23.0>"});
    EXPECT_THAT(text, HasSubstr(": it waits in a cycle\n"));
}

TEST_F(HangTest, WhatWaitsForNothingKnownIsAnEndItself) {
    SampleDump dump;
    dump.add(alpha_process());
    program_.put("hang.beamdump", dump.finish());
    const auto text = shown({"alpha"});
    EXPECT_THAT(text, HasSubstr("  <0.1.0> alpha (waiting in demo:loop/1)\n  <0.1.0>: it waits"));
    EXPECT_THAT(text, Not(HasSubstr("->")));
    EXPECT_EQ(program_.run({"hang", "hang.beamdump", "nobody"}).status, 1);
}

/// Process 2 is suspended in erts_internal:port_command/3 with that port.
std::vector<std::byte> in_port_command(std::uint64_t port) {
    constexpr std::uint32_t kInternal = 8;
    constexpr std::uint32_t kPortCommand = 9;
    constexpr std::uint64_t kPortTag = 7;  // erl_term.h: an immediate
    SampleDump dump;
    dump.add_ports();
    dump.builder().add_atoms(kInternal, {"erts_internal", "port_command"});
    auto process = suspended(2);
    process.current = {kInternal, kPortCommand, 3};
    process.arguments = {port << 4U | kPortTag, kNil, kNil};
    dump.add(process);
    return dump.finish();
}

TEST_F(HangTest, ABusyPortIsAnEnd) {
    program_.put("hang.beamdump", in_port_command(5));
    EXPECT_THAT(shown({"<0.2.0>"}), HasSubstr("-> waits for the busy #Port<0.5>\n"));
    program_.put("hang.beamdump", in_port_command(6));
    EXPECT_THAT(shown({"<0.2.0>"}), Not(HasSubstr("busy")));
}

/// 2 is in the list of a busy port, in whatever function it is.
TEST_F(HangTest, WhoIsInTheListOfABusyPortWaitsForIt) {
    SampleDump dump;
    records::Ports ports;
    auto& port = *ports.add_port();
    port.set_number(7);
    port.set_busy(true);
    port.set_suspended(1);
    port.add_suspended_owner_id(format::owner_id_of(2, 0));
    auto& builder = dump.builder();
    builder.trailer().add_ports_offset(builder.append(format::RecordKind::kPorts, ports));
    dump.add(suspended(2));
    program_.put("hang.beamdump", dump.finish());
    EXPECT_THAT(shown({"<0.2.0>"}), HasSubstr("-> waits for the busy #Port<0.7>\n"));
    EXPECT_THAT(program_.run({"ports", "hang.beamdump", "--json"}).out,
                HasSubstr("\"suspended\": 1,\n      \"suspended_processes\": \"<0.2.0>\""));
}

/// 9 was asked for a task by 2, which is in a function of its own.
TEST_F(HangTest, AWaitThatIsNotCertainIsSaid) {
    SampleDump dump;
    SampleProcess process;
    process.number = 2;
    dump.add(process);
    process.number = 9;
    process.void_reason = records::VOID_REASON_RUNNING;
    process.state_bits = 1U << 18U;  // ERTS_PSFLG_SYS_TASKS
    records::SystemTask task;
    task.set_kind(records::SYSTEM_TASK_KIND_CHECK_PROCESS_CODE);
    task.set_module_atom(kModuleAtom);
    task.set_requester_owner_id(format::owner_id_of(2, 0));
    process.system_tasks = {task};
    dump.add(process);
    program_.put("hang.beamdump", dump.finish());
    EXPECT_THAT(shown({"<0.2.0>"}, 3),
                HasSubstr("-> may wait for check_process_code of demo of <0.9.0> demo:loop/1 "
                          "(running in demo:loop/1)\n"));
}

}  // namespace
}  // namespace beamdump::test
