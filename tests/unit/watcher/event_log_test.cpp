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

TEST(EventLogTest, AnEventOfEachSecondIsToldThreeTimesAnHour) {
    test::TextOutput output;
    EventLog log(output, false);
    for (int at = 0; at < 3600; ++at) {
        log.write(seconds(at), {"refused", "no dump", {}}, "memory");
    }
    EXPECT_EQ(lines_of(output.text()), 3);
    log.write(seconds(3600), {"refused", "no dump", {}}, "memory");
    EXPECT_THAT(output.text(), EndsWith(" no dump (3,597 like this left out before)\n"));
    log.write(seconds(3601), {"refused", "no dump", {}}, "mailbox");
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
