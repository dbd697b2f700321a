#include "calls/measured_calls.h"
#include "calls/named_function.h"

#include <gtest/gtest.h>

#include <cmath>

namespace beamdump::sampler {
namespace {

using Kind = CallPoint::Kind;

constexpr std::uint64_t kProcess = 0x1000;
constexpr std::uint64_t kPlace = 0x7000;
constexpr std::uint64_t kStack = 0x20000;

class CallWordsTest : public testing::Test {
  protected:
    CallPoint point(Kind kind, std::uint64_t heap_top, std::uint64_t stack_top = kStack,
                    pid_t thread = 1) {
        return {.kind = kind,
                .time_ns = ++time_,
                .thread = thread,
                .process = kProcess,
                .heap_top = heap_top,
                .stack_top = stack_top,
                .returns_to = kPlace};
    }
    CallPoint entry(std::uint64_t heap_top, std::uint64_t stack_top = kStack) {
        return point(Kind::kEntry, heap_top, stack_top);
    }
    CallPoint leave(std::uint64_t heap_top, std::uint64_t stack_top = kStack) {
        return point(Kind::kReturn, heap_top, stack_top + 8);
    }
    static MeasuredCalls measured(std::vector<CallPoint> points, bool calls_itself = false) {
        CallWords words;
        words.add_window(std::move(points), kPlace, calls_itself);
        return words.measured().at(kPlace);
    }

    std::uint64_t time_ = 0;
};

TEST_F(CallWordsTest, TakesTheHeapsGrowth) {
    const auto calls = measured({entry(0x100), leave(0x180), entry(0x200), leave(0x200)});
    EXPECT_EQ(calls.calls, 2U);
    EXPECT_EQ(calls.words, 16);
    EXPECT_EQ(calls.squares, 256);
    EXPECT_EQ(calls.windows, 1U);
    EXPECT_EQ(calls.collected + calls.not_ended, 0U);
}

TEST_F(CallWordsTest, SortsByTime) {
    auto first = entry(0x100);
    auto second = leave(0x108);
    EXPECT_EQ(measured({second, first}).words, 1);
}

TEST_F(CallWordsTest, TakesInnerCallsApart) {
    const auto calls = measured(
        {entry(0x100), entry(0x110, kStack - 64), leave(0x120, kStack - 64), leave(0x140)});
    EXPECT_EQ(calls.calls, 2U);
    EXPECT_EQ(calls.words, 2 + 8);
}

TEST_F(CallWordsTest, EndsACallThatCallsTheFunctionAgain) {
    const auto points = std::vector{entry(0x100), entry(0x110), leave(0x140)};
    const auto calls = measured(points, true);
    EXPECT_EQ(calls.calls, 2U);
    EXPECT_EQ(calls.words, 2 + 6);
    // A function without such a call was left by an exception.
    const auto others = measured(points, false);
    EXPECT_EQ(others.calls, 1U);
    EXPECT_EQ(others.words, 6);
    EXPECT_EQ(others.not_ended, 1U);
}

TEST_F(CallWordsTest, LeavesOutWhatWasCollected) {
    const auto calls = measured(
        {entry(0x100), point(Kind::kCollection, 0x110), leave(0x180), entry(0x200), leave(0x208)});
    EXPECT_EQ(calls.calls, 1U);
    EXPECT_EQ(calls.words, 1);
    EXPECT_EQ(calls.collected, 1U);
}

TEST_F(CallWordsTest, TakesACollectionWithoutProcessForTheThreads) {
    auto collection = point(Kind::kCollection, 0, kStack, 2);
    collection.process = 0;
    const auto start = entry(0x100);
    collection.time_ns = start.time_ns;
    EXPECT_EQ(measured({start, collection, leave(0x108)}).calls, 1U);
    collection.thread = 1;
    EXPECT_EQ(measured({start, collection, leave(0x108)}).collected, 1U);
}

TEST_F(CallWordsTest, LeavesOutWhatCannotBe) {
    // On another thread; with a heap that shrank, or grew into the stack; with another stack.
    EXPECT_EQ(measured({entry(0x100), point(Kind::kReturn, 0x180, kStack + 8, 2)}).calls, 0U);
    EXPECT_EQ(measured({entry(0x100), leave(0xf8)}).calls, 0U);
    EXPECT_EQ(measured({entry(0x100), leave(kStack + 0x100)}).calls, 0U);
    const auto moved = measured({entry(0x100), leave(0x180, kStack + 64)});
    EXPECT_EQ(moved.calls, 0U);
    EXPECT_EQ(moved.not_ended, 1U);
    // Returns of calls that began before, and calls that return elsewhere.
    auto elsewhere = entry(0x100);
    elsewhere.returns_to = kPlace + 8;
    const auto none = measured({leave(0x180), elsewhere, leave(0x180)});
    EXPECT_EQ(none.calls + none.not_ended + none.collected, 0U);
    EXPECT_EQ(none.windows, 0U);
}

TEST_F(CallWordsTest, WeighsPlacesByTheirCalls) {
    const std::map<std::uint64_t, MeasuredCalls> calls = {
        {1, {.calls = 10, .windows = 2, .words = 500, .squares = 25000}},
        {2, {.calls = 2, .windows = 2, .words = 200, .squares = 20200}},
        {3, {.not_ended = 5}}};
    EXPECT_FALSE(words_of_call(calls, {{3, {1.0, 9}}}));
    EXPECT_FALSE(words_of_call(calls, {{4, {1.0, 9}}}));
    const auto words = words_of_call(calls, {{1, {3.0, 30}}, {2, {1.0, 10}}, {3, {4.0, 40}}});
    ASSERT_TRUE(words);
    EXPECT_DOUBLE_EQ(words->words, 0.75 * 50 + 0.25 * 100);
    EXPECT_DOUBLE_EQ(words->share, 0.5);
    // The variance of place 2 is 100, of two windows; that of the shares is of 40 samples.
    const auto shares = (0.75 * 12.5 * 12.5 + 0.25 * 37.5 * 37.5) / 40;
    EXPECT_NEAR(words->error, 1.96 * std::sqrt(0.25 * 0.25 * 50 + shares), 1e-9);
}

TEST(CallCounts, GivesEachWindowTheSameWeight) {
    CallCounts counts;
    EXPECT_EQ(counts.rate().a_second(), 0);
    // Half of the time 1,000 a second in a short window, half of it none in a long one.
    counts.add_window(0.001, 1, {7});
    counts.add_window(0.1, 0, {});
    counts.add_window(0, 5, {});
    EXPECT_EQ(counts.rate().counted(), 1U);
    EXPECT_DOUBLE_EQ(counts.rate().a_second(), 500);
    EXPECT_NEAR(counts.rate().error(), 1.96 * 500, 1e-6);
    EXPECT_EQ(counts.places().at(7).samples, 1U);
    EXPECT_DOUBLE_EQ(counts.places().at(7).weight, 1000);
}

TEST(CallCounts, SaysHowManyThereCanBeOfNone) {
    CallCounts counts;
    EXPECT_EQ(counts.rate().error(), 0);
    counts.add_window(0.5, 0, {});
    EXPECT_EQ(counts.rate().a_second(), 0);
    EXPECT_DOUBLE_EQ(counts.rate().error(), 6);
    // Equal windows are no proof of a fixed rate.
    CallCounts equal;
    equal.add_window(1, 100, {});
    equal.add_window(1, 100, {});
    EXPECT_NEAR(equal.rate().error(), 1.96 * 100 / std::sqrt(200.0), 1e-9);
}

TEST(NamedFunction, IsModuleFunctionAndArity) {
    EXPECT_TRUE(is_function_text("lists:map/2"));
    EXPECT_TRUE(is_function_text("'Elixir.A':'b/c'/0"));
    EXPECT_FALSE(is_function_text("lists:map"));
    EXPECT_FALSE(is_function_text("map/2"));
    EXPECT_FALSE(is_function_text(":map/2"));
    EXPECT_FALSE(is_function_text("lists:/2"));
    EXPECT_FALSE(is_function_text("lists:map/x"));
    EXPECT_FALSE(is_function_text(""));
}

TEST(NamedFunction, FindsJumpsToTheBeginning) {
    const auto jumps = [](std::initializer_list<int> bytes) {
        std::vector<std::byte> code;
        for (const auto byte : bytes) {
            code.push_back(static_cast<std::byte>(byte));
        }
        return jumps_to_begin(code);
    };
    EXPECT_TRUE(jumps({0x90, 0x90, 0xeb, 0xfc}));
    EXPECT_FALSE(jumps({0x90, 0x90, 0xeb, 0xfd}));
    EXPECT_TRUE(jumps({0x90, 0xe9, 0xfa, 0xff, 0xff, 0xff}));
    EXPECT_FALSE(jumps({0x90, 0xe9, 0xfb, 0xff, 0xff, 0xff}));
    EXPECT_FALSE(jumps({0xe9, 0xfb, 0xff, 0xff}));
    EXPECT_FALSE(jumps({0xeb}));
    EXPECT_FALSE(jumps({}));
}

}  // namespace
}  // namespace beamdump::sampler
