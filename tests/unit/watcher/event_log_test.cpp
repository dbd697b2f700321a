#include "cli/event_log.h"

#include "support/text_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::watch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(EventLogTest, WhatHappensAgainIsWrittenThreeTimesThenCounted) {
    test::TextOutput output;
    EventLog log(output, false);
    for (int at = 0; at < 3600; ++at) {
        log.write(seconds(at), {"refused", "no dump", {}}, "node", "memory");
    }
    EXPECT_EQ(lines_of(output.text()), 3);
    log.write(seconds(3600), {"refused", "no dump", {}}, "node", "mailbox");
    EXPECT_EQ(lines_of(output.text()), 4);
    // The first of these was that of the fourth second.
    log.look(seconds(3602));
    EXPECT_EQ(lines_of(output.text()), 4);
    log.look(seconds(3603));
    EXPECT_THAT(
        output.text(),
        EndsWith(
            " node: not written one by one in the last 60 minutes: 3,597 times \"refused\"\n"));
}

TEST(EventLogTest, ANodeThatStartsEachSecondIsOneLineAnHour) {
    test::TextOutput output;
    EventLog log(output, false);
    std::size_t before = 0;
    for (int hour = 0; hour < 5; ++hour) {
        for (int second = 0; second < 3600; ++second) {
            const seconds now(hour * 3600 + second);
            log.write(now, {"waiting", "waiting", {}}, "again@localhost");
            log.write(now, {"watching", "watching", {}}, "again@localhost");
            log.write(now, {"fired", "it started", {}}, "again@localhost", "start");
            log.write(now, {"refused", "no dump", {}}, "again@localhost", "memory");
            log.write(now, {"ended", "it ended", {}}, "again@localhost");
        }
        const auto lines = lines_of(output.text());
        // Three of each in the first hour.
        EXPECT_EQ(lines - before, hour == 0 ? 15 : 1);
        before = lines;
    }
    EXPECT_THAT(output.text(),
                EndsWith("again@localhost: not written one by one in the last 60 minutes: "
                         "3,600 times \"ended\", 3,600 times \"fired\", 3,600 times "
                         "\"refused\", 3,600 times \"waiting\", 3,600 times \"watching\"\n"));
    // None that was counted is lost when the program ends.
    log.finish(seconds(5 * 3600 + 60));
    EXPECT_EQ(lines_of(output.text()), before + 1);
    log.finish(seconds(5 * 3600 + 60));
    EXPECT_EQ(lines_of(output.text()), before + 1);
}

TEST(EventLogTest, AnEventThatWasCountedOnceIsOneTime) {
    test::TextOutput output;
    EventLog log(output, false);
    for (int at = 0; at < 4; ++at) {
        log.write(seconds(at), {"ended", "it ended", {}}, "node");
    }
    log.finish(seconds(10));
    EXPECT_THAT(output.text(),
                EndsWith("node: not written one by one in the last 1 minute: 1 time \"ended\"\n"));
}

TEST(EventLogTest, AnHourOfFewEventsEndsTheCounting) {
    test::TextOutput output;
    EventLog log(output, false);
    for (int at = 0; at < 10; ++at) {
        log.write(seconds(at), {"ended", "it ended", {}}, "node");
    }
    EXPECT_EQ(lines_of(output.text()), 3);
    // Nothing happens for two hours: the next one is news.
    log.look(minutes(180));
    EXPECT_EQ(lines_of(output.text()), 4);
    log.write(minutes(180), {"ended", "it ended", {}}, "node");
    EXPECT_THAT(output.text(), EndsWith("Z it ended\n"));
    EXPECT_EQ(lines_of(output.text()), 5);
}

TEST(EventLogTest, NodesAreCountedApart) {
    test::TextOutput output;
    EventLog log(output, true);
    for (int at = 0; at < 5; ++at) {
        log.write(seconds(at), {"ended", "it ended", {}}, "one@host");
    }
    log.write(seconds(5), {"ended", "it ended", {}}, "other@host");
    EXPECT_EQ(lines_of(output.text()), 4);
    log.finish(seconds(70));
    EXPECT_THAT(output.text(), HasSubstr(R"("event":"repeated","node":"one@host","sentence":)"));
    EXPECT_THAT(output.text(), EndsWith("\"times\":{\"ended\":2}}\n"));
    EXPECT_EQ(lines_of(output.text()), 5);
}

TEST(EventLogTest, JsonHasTheFacts) {
    test::TextOutput output;
    EventLog log(output, true);
    log.write(seconds(1), {"fired", "a \"rule\"\n", {{"rule", "memory"}, {"pid", "4242"}}});
    EXPECT_THAT(output.text(), HasSubstr(R"("event":"fired","rule":"memory","pid":"4242")"));
    EXPECT_THAT(output.text(), HasSubstr(R"("sentence":"a \"rule\"\n"})"));
    EXPECT_EQ(lines_of(output.text()), 1);
}

}  // namespace
}  // namespace beamdump::watch
