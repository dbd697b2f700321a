#include "query/diff.h"

#include "program.h"

#include <libdump/model/dump.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

query::DumpDiff diff(const Program& program, const std::string& before, const std::string& after,
                     std::uint64_t limit = 20) {
    auto first = expect_value(Dump::open(program.path(before)));
    auto second = expect_value(Dump::open(program.path(after)));
    return expect_value(query::diff_dumps(*first, before, *second, after, limit));
}

TEST(Diff, TellsBornGoneAndGrown) {
    const Program program;
    const auto result = diff(program, "sample.beamdump", "later.beamdump");
    EXPECT_TRUE(result.same_run);
    EXPECT_EQ(result.elapsed_us, 120'000'000);
    // 2 and 4 are gone; 3 is another process with the pid of one that is gone.
    EXPECT_EQ(result.gone.count, 3U);
    EXPECT_EQ(result.gone.memory_bytes, 5100U);
    EXPECT_EQ(result.born.count, 2U);
    EXPECT_EQ(result.born.memory_bytes, 1500U);
    EXPECT_EQ(result.common, 1U);
    ASSERT_EQ(result.grown.size(), 1U);
    EXPECT_EQ(result.grown[0].after.pid, "<0.1.0>");
    EXPECT_EQ(result.grown[0].memory_growth_bytes, 4000);
    EXPECT_EQ(result.grown[0].queue_growth, 1);
    EXPECT_EQ(result.grown[0].reductions, 1000);
    ASSERT_EQ(result.grown_queues.size(), 1U);
    EXPECT_EQ(result.shrunk_count, 0U);
}

TEST(Diff, WithItselfFindsNothing) {
    const Program program;
    const auto result = diff(program, "sample.beamdump", "sample.beamdump");
    EXPECT_EQ(result.born.count, 0U);
    EXPECT_EQ(result.gone.count, 0U);
    EXPECT_EQ(result.common, 4U);
    EXPECT_TRUE(result.grown.empty());
    for (const auto& change : result.totals) {
        EXPECT_EQ(change.before, change.after) << change.name;
    }
}

TEST(Diff, BackwardsSwapsBornAndGone) {
    const Program program;
    const auto result = diff(program, "later.beamdump", "sample.beamdump");
    EXPECT_EQ(result.born.count, 3U);
    EXPECT_EQ(result.gone.count, 2U);
    EXPECT_EQ(result.shrunk_count, 1U);
    EXPECT_EQ(result.elapsed_us, -120'000'000);
}

TEST(Diff, LimitKeepsTheLargest) {
    const Program program;
    const auto result = diff(program, "sample.beamdump", "later.beamdump", 1);
    ASSERT_EQ(result.gone.largest.size(), 1U);
    EXPECT_EQ(result.gone.largest[0].pid, "<0.2.0>");
    EXPECT_EQ(result.gone.count, 3U);
}

TEST(Diff, OtherNodeSharesNoProcess) {
    Program program;
    program.put("other.beamdump", DumpBuilder::whole({.threads = 1}));
    const auto result = diff(program, "sample.beamdump", "other.beamdump");
    EXPECT_FALSE(result.same_run);
    EXPECT_EQ(result.common, 0U);
    const Ran ran = program.run({"diff", "sample.beamdump", "other.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, testing::HasSubstr("different runs"));
}

TEST(Diff, TextNamesTheGrowth) {
    Program program;
    const Ran ran = program.run({"diff", "sample.beamdump", "later.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, testing::HasSubstr("(2 min 0 s later)"));
    EXPECT_THAT(ran.out, testing::HasSubstr("Born: 2 processes, 1.5 KiB\n"));
    EXPECT_THAT(ran.out, testing::HasSubstr("Gone: 3 processes, 5.0 KiB\n"));
    EXPECT_THAT(ran.out, testing::HasSubstr("+3.9 KiB"));
}

}  // namespace
}  // namespace beamdump::test
