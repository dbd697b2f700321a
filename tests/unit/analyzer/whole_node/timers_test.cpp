#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// As the VM writes them: for a process, for a name, for a name that nobody has, and without a
/// time.
constexpr std::string_view kCrashWithTimers = R"(=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: boom
System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:1] [ds:2:1:10]
=timer:<0.9.0>
Message: {timeout,#Ref<0.1.2.3>,now}
Time left: 3599000
=timer:alpha
Message: tick
Time left: 20
=timer:nobody
Message: tick
Time left: -7
=timer:<0.77.0>
Message: tick
=proc:<0.9.0>
State: Waiting
Name: alpha
)";

class TimersTest : public ::testing::Test {
  protected:
    Ran of_crash_dump(bool complete, std::vector<std::string> more) {
        const auto whole = std::string(kCrashWithTimers) + (complete ? "=end\n" : "");
        const auto text = std::as_bytes(std::span(whole));
        program_.put("crash.dump", {text.begin(), text.end()});
        more.insert(more.begin(), {"timers", program_.path("crash.dump")});
        return program_.run(std::move(more));
    }
    Program program_;
};

TEST_F(TimersTest, ListsReceiversTheLatestTimeoutFirst) {
    const auto ran = program_.run({"timers", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(
        ran.out,
        R"(KIND     RECEIVER    NAME                  LEFT MS  ORPHANED  MESSAGE WORDS  REFERENCE      SCHEDULER
receive  <0.2.0>     'Needs Quotes'  4,000,000,000  ?                                               1
message  <0.1.0>     alpha                   5,000                       12  #Ref<0.3.2.1>          1
message  loop                                1,000  yes                   0                         1
port     #Port<0.5>                              0  ?                                               1
unknown                                          ?  ?
timers: 2 message, 1 port, 1 receive, 1 unknown
)");
}

TEST_F(TimersTest, LeavesOutWhatIsUnknown) {
    const auto ran =
        program_.run({"timers", "sample.beamdump", "--json", "--filter", "kind=unknown"});
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 5,\n  \"matching\": 1"));
    for (const auto* absent : {"receiver\"", "left_ms", "orphaned", "level", "message_words"}) {
        EXPECT_THAT(ran.out, Not(HasSubstr(absent)));
    }
}

TEST_F(TimersTest, SaysWhoseReceiverDoesNotExist) {
    const auto ran =
        program_.run({"timers", "sample.beamdump", "--json", "--filter", "orphaned=true"});
    EXPECT_THAT(ran.out, HasSubstr("\"matching\": 1"));
    EXPECT_THAT(ran.out, HasSubstr("\"receiver\": \"loop\""));
    EXPECT_THAT(ran.out, HasSubstr("\"of\": \"message\""));
}

TEST_F(TimersTest, ACrashDumpHasMessageTimers) {
    const auto ran = of_crash_dump(true, {"--json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(R"(      "receiver": "<0.9.0>",
      "name": "alpha",
      "receiver_display_name": "alpha",
      "left_ms": 3599000,
      "orphaned": false
)"));
    EXPECT_THAT(ran.out, HasSubstr(R"(      "receiver": "alpha",
      "left_ms": 20,
      "orphaned": false
)"));
    // A negative time is none that is known.
    EXPECT_THAT(ran.out, HasSubstr(R"(      "receiver": "nobody",
      "orphaned": true
)"));
    // A complete text has all processes.
    EXPECT_THAT(ran.out, HasSubstr(R"(      "receiver": "<0.77.0>",
      "orphaned": true
)"));
}

TEST_F(TimersTest, ATextThatEndsEarlyDoesNotTellWhoDoesNotExist) {
    const auto ran = of_crash_dump(false, {"--json"});
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 4"));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"orphaned\": true")));
    EXPECT_THAT(ran.out, HasSubstr(R"(      "receiver": "<0.9.0>",
      "name": "alpha",
      "receiver_display_name": "alpha",
      "left_ms": 3599000,
      "orphaned": false
)"));
}

TEST_F(TimersTest, ADumpWithoutThemSaysSo) {
    const auto ran = program_.run({"timers", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no timers"));
    EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace beamdump::test
