#include "query/node/diff.h"

#include "program.h"

#include <libdump/model/dump.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

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
    EXPECT_THAT(ran.out, ::testing::HasSubstr("of different nodes or runs"));
}

/// A crash dump's text with one process for each initial call.
std::string crash_text(const std::string& date, const std::vector<std::string>& calls) {
    std::string text = "=erl_crash_dump:0.5\n" + date +
                       "\nSlogan: stopped\n"
                       "System version: Erlang/OTP 25 [erts-13.1.5] [64-bit] [smp:2:2] [jit]\n";
    for (std::size_t i = 0; i < calls.size(); ++i) {
        text += fmt::format("=proc:<0.{}.0>\nState: Waiting\nSpawned as: {}\nReductions: 5\n",
                            i + 1, calls[i]);
    }
    return text + "=end\n";
}

query::DumpDiff crash_diff(const std::string& date, const std::string& later_date,
                           const std::vector<std::string>& calls,
                           const std::vector<std::string>& later_calls) {
    Program program;
    for (const auto& [name, text] : {std::pair{"before", crash_text(date, calls)},
                                     std::pair{"after", crash_text(later_date, later_calls)}}) {
        const auto bytes = std::as_bytes(std::span(text));
        program.put(std::string(name) + ".dump", {bytes.begin(), bytes.end()});
        const Ran ran = program.run({"convert", program.path(std::string(name) + ".dump"), "-o",
                                     std::string(name) + ".beamdump"});
        EXPECT_EQ(ran.status, 0) << ran.err;
    }
    return diff(program, "before.beamdump", "after.beamdump");
}

constexpr auto kDate = "Sun Nov 22 18:11:27 2026";

TEST(Diff, InitialCallsAreComparedByNameNotByAtomNumber) {
    // In the second text other atoms come first, so the same names have other numbers there.
    const auto result =
        crash_diff(kDate, kDate, {"one:start/1", "two:start/1"}, {"one:start/1", "two:start/1"});
    EXPECT_EQ(result.common, 2U);
    const auto moved = crash_diff(kDate, kDate, {"zero:start/0", "one:start/1", "two:start/1"},
                                  {"other:begin/0", "one:start/1", "two:start/1"});
    EXPECT_EQ(moved.common, 2U);
    EXPECT_EQ(moved.born.count, 1U);
    EXPECT_EQ(moved.gone.count, 1U);
}

TEST(Diff, TwoCrashesAreOfTwoRuns) {
    const auto result =
        crash_diff(kDate, "Sun Nov 22 18:15:00 2026", {"one:start/1"}, {"one:start/1"});
    EXPECT_FALSE(result.same_run);
    EXPECT_EQ(result.common, 0U);
}

/// A crash dump has other binaries than a capture of the same node, and other code.
TEST(Diff, BinariesAndCodeOfACrashDumpAreNotComparedWithACaptures) {
    Program program;
    auto text = crash_text(kDate, {"one:start/1"});
    text.insert(text.find("=proc:"), "=loaded_modules\nCurrent code: 5000\n");
    const auto bytes = std::as_bytes(std::span(text));
    program.put("crash.dump", {bytes.begin(), bytes.end()});
    program.run({"convert", program.path("crash.dump"), "-o", "crash.beamdump"});
    for (const auto& change : diff(program, "sample.beamdump", "crash.beamdump").totals) {
        const bool other =
            change.name == "binaries" || change.name == "binary_memory" || change.name == "code";
        EXPECT_EQ(change.comparable, !other) << change.name;
    }
    EXPECT_TRUE(query::not_comparable(diff(program, "crash.beamdump", "crash.beamdump")).empty());
    const Ran ran = program.run({"diff", "sample.beamdump", "crash.beamdump"});
    EXPECT_THAT(ran.out, ::testing::HasSubstr("not comparable, as a crash dump counts other things "
                                              "than a capture: code\n"));
    EXPECT_THAT(program.run({"diff", "sample.beamdump", "crash.beamdump", "--json"}).out,
                ::testing::HasSubstr("\"not_comparable\": ["));
}

TEST(Diff, TextNamesTheGrowth) {
    Program program;
    const Ran ran = program.run({"diff", "sample.beamdump", "later.beamdump"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, ::testing::HasSubstr("(2 min 0 s later)"));
    EXPECT_THAT(ran.out, ::testing::HasSubstr("Born: 2 processes, 1.5 KiB\n"));
    EXPECT_THAT(ran.out, ::testing::HasSubstr("Gone: 3 processes, 5.0 KiB\n"));
    EXPECT_THAT(ran.out, ::testing::HasSubstr("+3.9 KiB"));
}

}  // namespace
}  // namespace beamdump::test
