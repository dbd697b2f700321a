// Small crash dumps of testdata/crash_dumps, and what is right about each.
#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KnownAnswers : public ::testing::Test {
  protected:
    /// What is said of the text, and of its conversion.
    std::vector<std::string> answers(const std::string& name, std::vector<std::string> words) {
        std::ifstream file(BEAMDUMP_TESTDATA "/crash_dumps/" + name, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_FALSE(text.empty()) << name;
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put("text.beamdump", std::vector(bytes, bytes + text.size()));
        EXPECT_EQ(
            program_.run({"convert", "text.beamdump", "-o", "made.beamdump", "--force"}).status, 0);
        std::vector<std::string> said;
        for (const std::string dump : {"text.beamdump", "made.beamdump"}) {
            auto arguments = words;
            arguments.insert(arguments.begin() + 1, dump);
            said.push_back(program_.run(arguments).out);
        }
        return said;
    }

    Program program_;
};

TEST_F(KnownAnswers, AFullAtomTableIsAFinding) {
    for (const auto& said : answers("full-atom-table.dump", {"summary"})) {
        EXPECT_THAT(said, HasSubstr("The atom table is 100% full (1,048,576 of 1,048,576 atoms)"));
        EXPECT_THAT(said, Not(HasSubstr("how many atoms the node may have")));
        EXPECT_THAT(said, HasSubstr("The node ended as its table of atoms was full (1,048,576 "
                                    "entries). The thread that asked for it ran "
                                    "registry_of_users (<0.90.0>).\n"));
        EXPECT_THAT(said, HasSubstr("scheduler:1, which ran registry_of_users (<0.90.0>)\n"));
        EXPECT_THAT(said, HasSubstr("taints      some_nif\n"));
    }
    for (const auto& said : answers("full-atom-table.dump", {"atoms"})) {
        EXPECT_THAT(said, HasSubstr("1,048,576 atoms of at most 1,048,576, 100.0%"));
    }
}

TEST_F(KnownAnswers, TimersAndPortsOfNobodyAreFindings) {
    for (const auto& said : answers("orphans.dump", {"summary"})) {
        EXPECT_THAT(said, HasSubstr("3 of 3 message timers wait to send a message to <0.999.0>, "
                                    "which does not exist.\n"));
        EXPECT_THAT(said, HasSubstr("2 ports are of a process that does not exist, with 2.0 KiB "
                                    "queued.\n"));
        EXPECT_THAT(said, HasSubstr("Old code of shop has not been purged, 878.9 KiB of code; a "
                                    "crash dump does not tell which processes run it.\n"));
    }
    for (const auto& said : answers("orphans.dump", {"timers", "--json"})) {
        EXPECT_THAT(said, HasSubstr(R"("left_ms": 1002,
      "orphaned": true)"));
    }
    for (const auto& said : answers("orphans.dump", {"ports", "--json"})) {
        EXPECT_THAT(said, HasSubstr(R"("orphaned": true)"));
        EXPECT_THAT(said, Not(HasSubstr(R"("orphaned": false)")));
    }
}

TEST_F(KnownAnswers, TheStateOfAGenServerIsFound) {
    for (const auto& said :
         answers("state-of-27.dump", {"term", "shop_cart", "state", "--term-bytes", "100"})) {
        EXPECT_THAT(said, HasSubstr("{cart_state,7,[]}"));
    }
}

TEST_F(KnownAnswers, TimersOfR14HaveTheTimeLeft) {
    for (const auto& said : answers("timers-of-r14.dump", {"timers"})) {
        EXPECT_THAT(said, HasSubstr("message  <0.15.0>  ticker  3,599,791\n"));
    }
}

/// The head of a crash dump with that slogan, and one process.
std::string with_slogan(const std::string& slogan) {
    return "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: " + slogan +
           "\nSystem version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]\nAtoms: 9\n"
           "Calling Thread: scheduler:2\n=scheduler:2\nCurrent Process: <0.9.0>\n"
           "=proc:<0.9.0>\nState: Running\nName: logger\nMessage queue length: 2\n"
           "Program counter: 0x00007f2000001000 (logger_server:loop/1 + 8)\narity = 0\n"
           "=proc_messages:<0.9.0>\nH10:N\nA6:second:N\n=proc_stack:<0.9.0>\n=proc_heap:<0.9.0>\n"
           "10:t2:A5:error,A4:down\n=end\n";
}

class Texts : public KnownAnswers {
  protected:
    std::string summary_of(const std::string& text) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put("text.beamdump", std::vector(bytes, bytes + text.size()));
        return program_.run({"summary", "text.beamdump"}).out;
    }
};

class Slogans : public Texts {
  protected:
    std::string summary(const std::string& slogan) { return summary_of(with_slogan(slogan)); }
};

TEST_F(Slogans, OfTheRuntimeAreExplained) {
    const std::string asked = " The thread that asked for it ran logger (<0.9.0>).\n";
    EXPECT_THAT(summary("eheap_alloc: Cannot allocate 6801972448 bytes of memory (of type "
                        "\"heap\")."),
                HasSubstr("The node ended as the operating system refused 6.3 GiB for the heap of "
                          "a process." +
                          asked));
    EXPECT_THAT(summary("binary_alloc: Cannot reallocate 1048576 bytes of memory (of type "
                        "\"binary\")."),
                HasSubstr("refused 1.0 MiB for \"binary\"." + asked));
    EXPECT_THAT(summary("eheap_alloc: Cannot allocate 18446744071692551144 bytes of memory (of "
                        "type \"old_heap\")."),
                HasSubstr("a size that had become negative or overflowed: not for lack of "
                          "memory." +
                          asked));
    EXPECT_THAT(summary("Kernel pid terminated (application_controller) "
                        "({application_start_failure,shop,{bad_return,{{shop_app,start,[normal,"
                        "[]]},{'EXIT',{undef,[]}}}}})"),
                HasSubstr("The node ended as the application shop did not start;"));
    EXPECT_THAT(summary("Kernel pid terminated (application_controller) "
                        "({application_terminated,shop,shutdown})"),
                HasSubstr("the application shop, started as permanent, had terminated"));
    EXPECT_THAT(summary("init terminating in do_boot ({undef,[{shop,start,[],[]}]})"),
                HasSubstr("The node ended while it started"));
    EXPECT_THAT(summary("Received SIGUSR1"), HasSubstr("was asked to end"));
    EXPECT_THAT(summary("halted by an operator"), Not(HasSubstr("The node ended")));
}

TEST_F(Slogans, UnreadMessagesOfTheLoggerAreShown) {
    EXPECT_THAT(summary("boom"),
                HasSubstr("2 messages are unread in logger (<0.9.0>), the first: {error,down}.\n"));
}

/// So many processes that are suspended, and a port.
std::string with_suspended(int processes, const std::string& port) {
    std::string text =
        "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: "
        "Erlang/OTP 25 [erts-13.1.5] [64-bit]\nAtoms: 9\n=port:#Port<0.5>\n" +
        port + "Connected: <0.100.0>\nPort controls linked-in driver: tcp_inet\nQueue: 8192\n";
    for (int number = 100; number < 100 + processes; ++number) {
        text += fmt::format("=proc:<0.{}.0>\nState: Suspended\nMessage queue length: 0\n", number);
    }
    return text + "=end\n";
}

TEST_F(Texts, WhoIsSuspendedByABusyPortIsTold) {
    const std::string busy = "State: CONNECTED\nTask Flags: BUSY_PORT|HAVE_TASKS\n";
    EXPECT_THAT(summary_of(with_suspended(10, busy)),
                HasSubstr("10 processes are suspended, and 1 port is busy: who sends to such a "
                          "port waits; most is queued in #Port<0.5> (tcp_inet), 8.0 KiB.\n"));
    for (const auto& text :
         {with_suspended(9, busy), with_suspended(10, "State: CONNECTED\n"),
          with_suspended(10, "State: CONNECTED|DISTRIBUTION\nTask Flags: BUSY_PORT\n")}) {
        EXPECT_THAT(summary_of(text), Not(HasSubstr("are suspended")));
    }
}

TEST_F(Texts, ProcessesOfTheSystemThatAreSlowAreTold) {
    const auto text = [](int messages) {
        return fmt::format(
            "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: "
            "Erlang/OTP 25 [erts-13.1.5] [64-bit]\nAtoms: 9\n=proc:<0.50.0>\nState: Waiting\n"
            "Name: code_server\nMessage queue length: {}\nProgram counter: 0x00007f2000001000 "
            "(prim_file:read_file_nif/1 + 8)\n=end\n",
            messages);
    };
    EXPECT_THAT(summary_of(text(20)),
                HasSubstr("20 messages are unread in code_server (<0.50.0>), which is in "
                          "prim_file:read_file_nif/1: loading code waits.\n"));
    EXPECT_THAT(summary_of(text(19)), Not(HasSubstr("are unread")));
}

}  // namespace
}  // namespace beamdump::test
