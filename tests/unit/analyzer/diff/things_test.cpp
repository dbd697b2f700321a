#include "query/diff/series.h"
#include "query/diff/thing_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using query::make_series;
using query::Measure;
using query::Series;
using query::ThingTable;
using Values = std::vector<std::optional<std::uint64_t>>;
using Times = std::vector<std::optional<std::int64_t>>;

constexpr std::int64_t kHour = 3'600'000'000;

Times hourly(std::size_t count) {
    Times times;
    for (std::size_t i = 0; i < count; ++i) {
        times.emplace_back(static_cast<std::int64_t>(i) * kHour);
    }
    return times;
}

bool steady(const Values& values) {
    return *make_series(values, hourly(values.size())).steady;
}

TEST(Series, SaysGrowthPerHourAndInHowManySteps) {
    const Series series = make_series({100, 300, 250, 400}, hourly(4));
    EXPECT_EQ(series.change, 300);
    EXPECT_EQ(series.change_per_hour, 100);
    EXPECT_EQ(series.steps, 3U);
    EXPECT_EQ(series.rises, 2U);
}

TEST(Series, SkipsDumpsThatDoNotSayIt) {
    const Series series = make_series({std::nullopt, 100, std::nullopt, 300}, hourly(4));
    EXPECT_EQ(series.change, 200);
    EXPECT_EQ(series.change_per_hour, 100);
    EXPECT_EQ(series.steps, 1U);
    EXPECT_FALSE(series.steady);
    const Series once = make_series({std::nullopt, 100}, hourly(2));
    EXPECT_FALSE(once.change);
    EXPECT_EQ(once.steps, 0U);
}

TEST(Series, TellsSteadyGrowthFromNoise) {
    EXPECT_TRUE(steady({100, 200, 300}));
    EXPECT_TRUE(steady({0, 150, 200}));
    EXPECT_FALSE(steady({100, 100, 300}));       // once
    EXPECT_FALSE(steady({100, 290, 300}));       // once, and a little
    EXPECT_FALSE(steady({100, 50, 300}));        // up and down
    EXPECT_FALSE(steady({300, 200, 100}));       // shrinks
    EXPECT_FALSE(steady({100, 100, 100}));       // stays
    EXPECT_TRUE(steady({100, 200, 200, 300}));   // a block at a time
    EXPECT_TRUE(steady({100, 200, 195, 300}));   // with a small fall
    EXPECT_FALSE(steady({100, 250, 150, 300}));  // with a large one
    EXPECT_FALSE(steady({0, 100, 100, 100}));
}

TEST(Series, SharesOfStepsAreByTime) {
    // 23 hours, then one: as much in each hour.
    const Times uneven = {0, 23 * kHour, 24 * kHour};
    EXPECT_EQ(make_series({0, 2300, 2400}, uneven).steady, true);
    EXPECT_EQ(make_series({0, 100, 2400}, uneven).steady, false);
    // Without times each step has an equal share.
    EXPECT_EQ(make_series({0, 2300, 2400}, Times(3)).steady, false);
    EXPECT_FALSE(make_series({0, 2300, 2400}, Times(3)).change_per_hour);
}

TEST(Series, NumbersVary) {
    EXPECT_FALSE(query::exceeds_variation(10, 12));
    EXPECT_FALSE(query::exceeds_variation(0, 16));
    EXPECT_TRUE(query::exceeds_variation(0, 17));
    EXPECT_TRUE(query::exceeds_variation(10'000, 11'000));
    EXPECT_FALSE(query::exceeds_variation(11'000, 10'000));
}

TEST(ThingTable, AThingThatIsNotThereIsZeroOnlyInAWholeSection) {
    ThingTable table(4);
    table.begin(0);
    table.add("a", {.size = 10, .count = 1});
    table.begin(1);
    table.begin(2, false);
    EXPECT_EQ(table.value(0, Measure::kSize, 0), 10U);
    EXPECT_EQ(table.value(0, Measure::kSize, 1), 0U);
    EXPECT_EQ(table.value(0, Measure::kSize, 2), std::nullopt);
    EXPECT_EQ(table.value(0, Measure::kSize, 3), std::nullopt);
    EXPECT_TRUE(table.is_in(0, 0));
    EXPECT_FALSE(table.is_in(0, 1));
    EXPECT_EQ(table.sum(Measure::kSize, 0), 10U);
    EXPECT_EQ(table.sum(Measure::kSize, 2), std::nullopt);
}

TEST(ThingTable, EqualKeysAreAddedUpAsFarAsTheyAreKnown) {
    ThingTable table(2);
    table.begin(0);
    table.add("a", {.size = 10, .count = std::nullopt});
    table.add("a", {.size = std::nullopt, .count = std::nullopt});
    table.add("a", {.size = 5, .count = std::nullopt});
    EXPECT_EQ(table.value(0, Measure::kSize, 0), 15U);
    EXPECT_EQ(table.value(0, Measure::kCount, 0), std::nullopt);
    EXPECT_EQ(table.value(0, Measure::kMembers, 0), 3U);
    table.begin(1);
    table.add("a", {.size = std::nullopt});
    table.add("a", {.size = ~0ULL});
    table.add("a", {.size = ~0ULL - 1});
    EXPECT_EQ(table.value(0, Measure::kSize, 1), ~0ULL >> 1U);
}

TEST(ThingTable, OneKeyWithAnotherIdentityIsAnotherThing) {
    ThingTable table(3);
    table.begin(0);
    table.add("<0.1.0>", {.size = 10, .identity = 1});
    table.begin(1);
    table.add("<0.1.0>", {.size = 20, .identity = 2});
    table.begin(2);
    table.add("<0.1.0>", {.size = 30});
    ASSERT_EQ(table.things().size(), 2U);
    EXPECT_EQ(table.value(0, Measure::kSize, 1), 0U);
    EXPECT_EQ(table.value(1, Measure::kSize, 0), 0U);
    // An unknown identity is that of the last.
    EXPECT_EQ(table.value(1, Measure::kSize, 2), 30U);
}

TEST(ThingTable, AnotherVersionIsAChange) {
    ThingTable table(2);
    table.begin(0);
    table.add("a", {.version = 1});
    table.add("b", {.version = 1});
    table.add("c", {});
    table.begin(1);
    table.add("a", {.version = 2});
    table.add("b", {.version = 1});
    table.add("c", {.version = 1});
    EXPECT_TRUE(table.things()[0].changed);
    EXPECT_FALSE(table.things()[1].changed);
    EXPECT_FALSE(table.things()[2].changed);
}

}  // namespace
}  // namespace beamdump::test
