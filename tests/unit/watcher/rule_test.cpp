#include "rules/rule.h"

#include "rules/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

RuleState state_of(std::string_view text) {
    auto rule = parse_rule(text);
    EXPECT_TRUE(rule) << (rule ? "" : rule.error().message);
    return RuleState(rule.value_or(Rule()));
}

Measurements memory(double mebibytes, std::optional<double> limit = 512) {
    Measurements read;
    read[Quantity::kMemory] = {.value = mebibytes * kMiB,
                               .whole = limit ? std::optional(*limit * kMiB) : std::nullopt,
                               .whole_name = "the limit of cgroup /docker/1f"};
    return read;
}

TEST(RuleTest, ActsOnceTheValueWasAboveForTheTime) {
    auto rule = state_of("memory > 90% for 10s");
    EXPECT_FALSE(rule.feed(seconds(0), memory(470)));
    EXPECT_FALSE(rule.feed(seconds(9), memory(480)));
    EXPECT_EQ(rule.feed(seconds(10), memory(480)),
              "memory was 480.0 MiB, 93.8% of the limit of cgroup /docker/1f (512.0 MiB), above "
              "90% for 10 s");
    EXPECT_FALSE(rule.feed(seconds(20), memory(500)));
}

TEST(RuleTest, AGapBelowBeginsTheTimeAnew) {
    auto rule = state_of("memory > 90% for 10s");
    EXPECT_FALSE(rule.feed(seconds(0), memory(480)));
    EXPECT_FALSE(rule.feed(seconds(5), memory(400)));
    EXPECT_FALSE(rule.feed(seconds(6), memory(480)));
    EXPECT_FALSE(rule.feed(seconds(15), memory(480)));
    EXPECT_TRUE(rule.feed(seconds(16), memory(480)));
}

TEST(RuleTest, ActsAgainOnlyAfterTheValueWasWellBelow) {
    auto rule = state_of("memory > 100MiB");
    EXPECT_TRUE(rule.feed(seconds(0), memory(101)));
    EXPECT_FALSE(rule.feed(seconds(1), memory(99)));
    EXPECT_FALSE(rule.feed(seconds(2), memory(101)));
    EXPECT_FALSE(rule.feed(seconds(3), memory(94)));
    EXPECT_TRUE(rule.feed(seconds(4), memory(101)));
}

TEST(RuleTest, AShareOfWhatIsNotKnownNeverHolds) {
    auto rule = state_of("memory > 1%");
    EXPECT_FALSE(rule.feed(seconds(0), memory(500, std::nullopt)));
    EXPECT_FALSE(rule.feed(seconds(1), Measurements()));
    EXPECT_EQ(rule.seen(Measurements()), "memory is not known");
}

TEST(RuleTest, GrowthIsOfTheTimeThatWasAsked) {
    auto rule = state_of("memory grows 100MiB/10s");
    for (int at = 0; at <= 60; ++at) {
        EXPECT_FALSE(rule.feed(seconds(at), memory(100 + 9 * at))) << at;
    }
    // 9 MiB a second are 90 in ten; 12 are more.
    std::optional<std::string> reason;
    for (int at = 1; at <= 10 && !reason; ++at) {
        reason = rule.feed(seconds(60 + at), memory(640 + 12 * at));
    }
    ASSERT_TRUE(reason);
    EXPECT_THAT(*reason, HasSubstr("memory grew by 102.0 MiB in 10 s, to 688.0 MiB"));
}

TEST(RuleTest, GrowthInALongWindowKeepsFewReadings) {
    auto rule = state_of("memory grows 1000MiB/24h");
    std::optional<std::string> reason;
    int at = 0;
    for (; at < 86'400 && !reason; ++at) {
        reason = rule.feed(seconds(at), memory(100 + at / 40.0));
    }
    ASSERT_TRUE(reason);
    EXPECT_NEAR(at, 40'000, 60);
}

TEST(RuleTest, AReadingThatFailedToActMayActAtTheNext) {
    auto rule = state_of("memory > 100MiB");
    EXPECT_TRUE(rule.feed(seconds(0), memory(101)));
    rule.retry();
    EXPECT_TRUE(rule.feed(seconds(1), memory(101)));
}

TEST(RuleTest, RulesOfTheCommandLine) {
    const auto rule = parse_rule("mailbox > 10000 for 1m");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->name, "mailbox");
    EXPECT_EQ(rule->above.number, 10'000);
    EXPECT_EQ(rule->hold, seconds(60));
    const std::pair<std::string_view, std::string_view> wrong[] = {
        {"mail > 3", "\"mail\" is not what a rule can look at: memory, resident"},
        {"memory > much", "\"much\" is no threshold of memory: 2GiB, 512M or a share such as 90%"},
        {"mailbox > 90%", "\"90%\" is no threshold of mailbox: a number"},
        {"pressure > 101", "\"101\" is no threshold of pressure: 20%"},
        {"memory < 3", "is not a rule, such as"},
        {"memory grows 3MiB", "does not say in what time"},
        {"memory > 90% for", "does not say for how long"},
        {"memory > 90% or", "goes on after"},
        {"memory > 90% for 1s 2s", "goes on after"},
    };
    for (const auto& [text, why] : wrong) {
        const auto refused = parse_rule(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
        EXPECT_THAT(refused.error().message, HasSubstr(std::string(why))) << text;
    }
}

}  // namespace
}  // namespace beamdump::watch
