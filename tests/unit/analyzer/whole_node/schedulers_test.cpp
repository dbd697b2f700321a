#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// As the VM writes them: one that runs a process, one that sleeps, and a text that ends early.
constexpr std::string_view kCrash = R"(=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: boom
System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:1] [ds:2:1:10]
=scheduler:1
Scheduler Sleep Info Flags: 
Scheduler Sleep Info Aux Work: DELAYED_AW_WAKEUP
Current Port: #Port<0.6>
Run Queue Max Length: 1
Run Queue High Length: 0
Run Queue Normal Length: 20
Run Queue Low Length: 300
Run Queue Port Length: 4000
Run Queue Flags: NONEMPTY | EXEC
Current Process: <0.9.0>
Current Process State: Running
=scheduler:2
Scheduler Sleep Info Flags: SLEEPING | TSE_SLEEPING | WAITING | SUSPENDED
Run Queue Max Length: 0
Run Queue High Length: many
Current Process: 
=dirty_cpu_scheduler:3
Scheduler Sleep Info Flags: SLEEPING | TSE_SLEEPING | WAITING
Current Process: 
=dirty_cpu_run_queue
Run Queue Max Length: 0
Run Queue High Length: 0
Run Queue Normal Length: 7
Run Queue Low Length: 0
Run Queue Port Length: 0
=dirty_io_scheduler:4
=proc:<0.9.0>
State: Running
Name: alpha
=end
)";

class SchedulersTest : public ::testing::Test {
  protected:
    Ran of_crash_dump(std::vector<std::string> more) {
        const auto text = std::as_bytes(std::span(kCrash));
        program_.put("crash.dump", {text.begin(), text.end()});
        more.insert(more.begin(), {"schedulers", program_.path("crash.dump")});
        return program_.run(std::move(more));
    }
    Program program_;
};

TEST_F(SchedulersTest, ListsWhatRunsAndWaitsTheLongestQueueFirst) {
    const auto ran = program_.run({"schedulers", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(
        ran.out,
        R"(KIND             SCHEDULER  STATE      PROCESS  NAME   PORT        QUEUE  MAX  HIGH  NORMAL  LOW  PORTS
normal                   1  running    <0.1.0>  alpha  #Port<0.5>    123    0     0     120    3      0
dirty_cpu_queue                                                        2    0     0       2    0      0
normal                   2  suspended                                  0    0     0       0    0      0
dirty_io_queue                                                         0    0     0       0    0      0
dirty_cpu                3
dirty_io                 4  sleeping
)");
}

TEST_F(SchedulersTest, LeavesOutWhatIsUnknown) {
    const auto ran =
        program_.run({"schedulers", "sample.beamdump", "--json", "--filter", "kind~dirty_cpu"});
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 6,\n  \"matching\": 2"));
    EXPECT_THAT(ran.out, HasSubstr("\"scheduler\": 3\n"));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"state\"")));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"online\"")));
}

TEST_F(SchedulersTest, ACrashDumpHasThemToo) {
    const auto ran = of_crash_dump({});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(
        ran.out,
        R"(KIND             SCHEDULER  STATE      PROCESS  NAME   PORT        QUEUE  MAX  HIGH  NORMAL  LOW  PORTS
normal                   1  running    <0.9.0>  alpha  #Port<0.6>  4,321    1     0      20  300  4,000
dirty_cpu_queue                                                        7    0     0       7    0      0
normal                   2  suspended                                       0
dirty_cpu                3  sleeping
dirty_io                 4
)");
}

TEST_F(SchedulersTest, SaysWhatTheyHaveToDoBesidesProcesses) {
    const auto ran = of_crash_dump({"--columns", "scheduler,aux_work", "--filter", "kind=normal"});
    EXPECT_EQ(ran.out, "SCHEDULER  AUX WORK\n        1  DELAYED_AW_WAKEUP\n        2\n");
}

TEST_F(SchedulersTest, SaysWhichAreOnline) {
    const auto ran = of_crash_dump({"--json", "--filter", "online=true"});
    EXPECT_THAT(ran.out, HasSubstr("\"matching\": 2"));
}

TEST_F(SchedulersTest, ADumpWithoutThemSaysSo) {
    const auto ran = program_.run({"schedulers", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no schedulers"));
    EXPECT_EQ(ran.out, "");
}

TEST_F(SchedulersTest, MoreThanANodeCanHaveAreRefused) {
    SampleDump dump;
    records::Schedulers page;
    for (std::uint32_t number = 1; number <= 500; ++number) {
        page.add_scheduler()->set_number(number);
    }
    for (int pages = 0; pages < 9; ++pages) {
        dump.builder().trailer().add_schedulers_offset(
            dump.builder().append(format::RecordKind::kScheduler, page));
    }
    program_.put("many.beamdump", dump.finish());
    const auto ran = program_.run({"schedulers", "many.beamdump"});
    EXPECT_NE(ran.status, 0);
    EXPECT_THAT(ran.err, HasSubstr("over 4096 schedulers"));
}

}  // namespace
}  // namespace beamdump::test
