#include "alloc/heap_tops.h"

#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kHeap = 0x7f0000000000;
constexpr std::uint64_t kPeriod = 50000;
constexpr std::uint64_t kStackTop = kHeap + 1'000'000;

HeapPoint at(std::uint64_t microseconds, std::uint64_t words, std::string function) {
    return {.time_ns = microseconds * 1000,
            .thread = 7,
            .process = 0x1000,
            .heap_top = kHeap + words * 8,
            .stack_top = kStackTop,
            .function = std::move(function)};
}

TEST(HeapTops, WordsBetweenSamplesOfOneFunctionAreIts) {
    HeapTops tops(kPeriod);
    tops.add_burst({at(0, 0, "m:f/0"), at(50, 100, "m:f/0"), at(100, 150, "m:f/0")});
    const auto found = tops.estimate();
    EXPECT_EQ(found.intervals, 2U);
    EXPECT_EQ(found.words, 150);
    EXPECT_EQ(found.certain_words, 150);
    EXPECT_NEAR(found.seconds, 100e-6, 1e-9);
    EXPECT_EQ(found.functions.at("m:f/0").words, 150);
}

TEST(HeapTops, MixedIntervalsFollowTheRates) {
    HeapTops tops(kPeriod);
    // f allocates 100 words in each 50 microseconds, g none.
    for (int burst = 0; burst < 4; ++burst) {
        tops.add_burst({at(0, 0, "m:f/0"), at(50, 100, "m:f/0"), at(100, 150, "m:g/0"),
                        at(150, 150, "m:g/0"), at(200, 150, "m:g/0")});
    }
    const auto found = tops.estimate();
    EXPECT_EQ(found.words, 600);
    EXPECT_EQ(found.certain_words, 400);
    EXPECT_GT(found.functions.at("m:f/0").words, 590);
    EXPECT_LT(found.functions.at("m:f/0").error, 0.01) << "all bursts are alike";
}

/// In native code that was called at that top.
HeapPoint called(std::uint64_t microseconds, std::uint64_t words, std::string function) {
    auto point = at(microseconds, words, std::move(function));
    point.stack_top = 0;
    return point;
}

TEST(HeapTops, WordsUpToACallAreThoseBefore) {
    HeapTops tops(kPeriod);
    tops.add_burst({at(0, 0, "m:f/0"), called(50, 100, "m:f/0"), called(100, 100, "m:f/0"),
                    called(150, 300, "m:f/0"), at(200, 350, "m:f/0")});
    const auto found = tops.estimate();
    EXPECT_EQ(found.intervals, 4U);
    EXPECT_EQ(found.words, 350);
    EXPECT_EQ(found.unusable, 0U);
}

TEST(HeapTops, ACallOnAnotherHeapBoundsNothing) {
    HeapTops tops(kPeriod);
    // Collected in native code: the new heap's room is not known.
    auto moved = called(50, 100, "m:f/0");
    moved.heap_top -= std::uint64_t{1} << 20U;
    auto again = called(100, 200, "m:f/0");
    again.heap_top -= std::uint64_t{1} << 20U;
    tops.add_burst({called(0, 0, "m:f/0"), at(10, 0, "m:f/0"), moved, again, at(150, 300, "m:f/0"),
                    at(200, 310, "m:f/0")});
    const auto found = tops.estimate();
    EXPECT_EQ(found.words, 10);
    EXPECT_EQ(found.intervals, 1U);
    EXPECT_EQ(found.unusable, 1U);
}

TEST(HeapTops, ACollectionEndsAnInterval) {
    HeapTops tops(kPeriod);
    auto full = at(50, 100, "m:f/0");
    full.collection = true;
    tops.add_burst({at(0, 0, "m:f/0"), full, at(100, 10, "m:f/0"), at(150, 20, "m:f/0")});
    const auto found = tops.estimate();
    EXPECT_DOUBLE_EQ(found.words, 110);
    EXPECT_EQ(found.intervals, 2U);
    EXPECT_EQ(found.collections, 1U);
    EXPECT_EQ(found.functions.at("m:f/0").collections, 1U);
    EXPECT_EQ(found.unusable, 0U);
}

TEST(HeapTops, OtherHeapsAreNotCompared) {
    HeapTops tops(kPeriod);
    auto other = at(50, 100, "m:f/0");
    other.process = 0x2000;
    auto again = at(60, 150, "m:f/0");
    again.pid = 5;  // the structure has another process
    auto moved = at(150, 0, "m:f/0");
    moved.heap_top += std::uint64_t{1} << 30U;
    moved.stack_top += std::uint64_t{1} << 30U;
    tops.add_burst({at(0, 0, "m:f/0"), other, again, at(100, 200, "m:f/0"), moved});
    auto found = tops.estimate();
    EXPECT_DOUBLE_EQ(found.words, 200);
    EXPECT_EQ(found.intervals, 1U);
    EXPECT_EQ(found.unusable, 1U);
    tops.add_burst({at(400, 0, "m:f/0")});
    tops.add_burst({at(450, 10, "m:f/0")});
    EXPECT_EQ(tops.estimate().intervals, 1U) << "bursts are not connected";
}

TEST(HeapTops, AHeapThatBeginsElsewhereWasCollected) {
    HeapTops tops(kPeriod);
    auto before = at(0, 0, "m:f/0");
    before.heap = kHeap;
    auto after = at(50, 100, "m:f/0");
    after.heap = kHeap - 8;
    auto above = at(100, 200, "m:f/0");
    above.heap = kHeap + 150 * 8;
    tops.add_burst({before, after, above});
    EXPECT_EQ(tops.estimate().intervals, 0U);
    EXPECT_EQ(tops.estimate().unusable, 2U);
}

TEST(HeapTops, AProcessThatWasScheduledOutIsNotCertain) {
    HeapTops tops(kPeriod);
    auto other = at(50, 0, "m:g/0");
    other.process = 0x2000;
    auto elsewhere = at(200, 300, "m:f/0");
    elsewhere.thread = 8;
    tops.add_burst({at(0, 0, "m:f/0"), other, at(100, 100, "m:f/0"), elsewhere});
    auto found = tops.estimate();
    EXPECT_EQ(found.intervals, 2U);
    EXPECT_EQ(found.functions.at("m:f/0").words, 300);
    EXPECT_EQ(found.scheduled_out_words, 300);
    EXPECT_EQ(found.certain_words, 0);
    EXPECT_EQ(found.seconds, 0) << "not all of the time is the process's";
    EXPECT_EQ(found.samples, 4U);
    EXPECT_EQ(found.not_covered, 1U) << "g";
}

TEST(HeapTops, LostSamplesBoundNoInterval) {
    HeapTops tops(kPeriod);
    auto behind = at(100, 200, "m:g/0");
    behind.after_loss = true;
    tops.add_burst({at(0, 0, "m:f/0"), at(50, 100, "m:f/0"), behind, at(150, 250, "m:g/0")});
    const auto found = tops.estimate();
    EXPECT_EQ(found.words, 150);
    EXPECT_EQ(found.functions.at("m:f/0").certain_words, 100);
}

TEST(HeapTops, IntervalsThatCollectionsCutAreMadeUpFor) {
    HeapTops tops(kPeriod);
    // f allocates twice as fast as g, and three of its four intervals are lost.
    auto collected = [](std::uint64_t microseconds) {
        auto point = at(microseconds, 0, "m:f/0");
        point.heap_top -= std::uint64_t{1} << 20U;
        return point;
    };
    auto collects = collected(200);
    collects.heap_top = 0;
    collects.collects = true;
    tops.add_burst({at(0, 0, "m:f/0"), at(50, 200, "m:f/0")});
    tops.add_burst({at(0, 0, "m:f/0"), collected(50)});
    tops.add_burst({at(0, 0, "m:f/0"), collected(50), collects});
    tops.add_burst({at(0, 0, "m:f/0"), collected(50)});
    for (int burst = 0; burst < 4; ++burst) {
        tops.add_burst({at(0, 0, "m:g/0"), at(50, 100, "m:g/0")});
    }
    const auto found = tops.estimate();
    EXPECT_EQ(found.words, 600) << "what was seen";
    EXPECT_EQ(found.samples, 16U) << "without the collection's";
    EXPECT_DOUBLE_EQ(found.functions.at("m:f/0").words, 400);
    EXPECT_DOUBLE_EQ(found.functions.at("m:f/0").certain_words, 400);
    EXPECT_DOUBLE_EQ(found.functions.at("m:g/0").words, 200);
}

HeapPoint collection_at(std::uint64_t microseconds, std::uint64_t words, std::string function) {
    auto point = at(microseconds, words, std::move(function));
    point.collection = true;
    return point;
}

// Calls that are nested need room on the stack, where they are collected, and build their words as
// they return, where they are not: of 6 samples in f three have 100 words each, as 3 of g have 50.
TEST(HeapTops, CollectionsInOnePhaseOfAFunctionAreMadeUpForInThatPhase) {
    HeapTops tops(kPeriod);
    for (int burst = 0; burst < 20; ++burst) {
        tops.add_burst({at(0, 0, "m:f/1"), collection_at(25, 0, "m:f/1"), at(100, 0, "m:f/1"),
                        collection_at(125, 0, "m:f/1"), at(200, 0, "m:f/1"),
                        collection_at(225, 0, "m:f/1"), at(300, 0, "m:f/1"), at(350, 100, "m:f/1"),
                        at(400, 200, "m:f/1"), at(450, 275, "m:g/0"), at(500, 325, "m:g/0"),
                        at(550, 375, "m:g/0")});
    }
    const auto found = tops.estimate();
    EXPECT_NEAR(found.functions.at("m:f/1").words / found.words, 300.0 / 450, 0.025);
    EXPECT_NEAR(found.words, 20 * 375, 1e-6) << "those that were seen";
    EXPECT_LE(found.certain_words, found.words);
}

// Where calls return, the stack makes room for the heap.
TEST(HeapTops, AHeapGrowsIntoWhatWasTheStack) {
    const auto near_the_stack = [](std::uint64_t microseconds, std::uint64_t words,
                                   std::uint64_t stack) {
        auto point = at(microseconds, words, "m:f/1");
        point.stack_top = kHeap + stack * 8;
        return point;
    };
    const auto seen = [&](bool heap_known, bool collections_seen, std::uint64_t stack) {
        HeapTops tops(kPeriod, collections_seen);
        auto last = near_the_stack(50, 1100, stack);
        if (heap_known) {
            last.heap = kHeap;
            last.heap_end = kHeap + 3000 * 8;
        }
        tops.add_burst({near_the_stack(0, 100, 1000), last});
        return tops.estimate().words;
    };
    EXPECT_EQ(seen(true, false, 2000), 1000);
    EXPECT_EQ(seen(false, true, 2000), 1000);
    EXPECT_EQ(seen(false, false, 2000), 0) << "it may be another block";
    EXPECT_EQ(seen(true, true, 1000), 0) << "there was no room";
    HeapTops tops(kPeriod, true);
    tops.add_burst({near_the_stack(0, 100, 1000), near_the_stack(50, 2'000'000, 3'000'000)});
    EXPECT_EQ(tops.estimate().words, 0) << "no processor writes so fast";
}

TEST(HeapTops, NativeCodeOfTheProcessCountsToItsCaller) {
    HeapTops tops(kPeriod);
    auto native = at(50, 0, "m:g/0");
    native.heap_top = native.stack_top = 0;
    auto unknown = native;
    unknown.time_ns += 1000;
    unknown.function.clear();
    tops.add_burst({at(0, 0, "m:g/0"), native, unknown, at(100, 300, "m:g/0")});
    const auto found = tops.estimate();
    EXPECT_EQ(found.functions.at("m:g/0").certain_words, 300);
    EXPECT_EQ(found.unusable, 0U);
}

HeapPoint called(std::uint64_t microseconds, std::uint64_t words, std::string function,
                 std::string caller) {
    auto point = at(microseconds, words, std::move(function));
    point.callers = {std::move(caller), "m:main/0"};
    return point;
}

std::map<std::string, AllocatedBy> by_caller(const Allocation& found) {
    std::map<std::string, AllocatedBy> by;
    for (const auto& [node, words] : found.by_stack) {
        std::string text;
        for (const auto place : found.stacks.stack(node)) {
            text += (text.empty() ? "" : ";") + found.stacks.places()[place].function;
        }
        by[text] = words;
    }
    return by;
}

TEST(HeapTops, AFunctionsWordsCountToItsStacksOfTheInterval) {
    HeapTops tops(kPeriod);
    tops.add_burst({called(0, 0, "m:f/0", "m:a/0"), called(50, 300, "m:f/0", "m:a/0"),
                    called(100, 400, "m:f/0", "m:b/0"), called(150, 500, "m:f/0", "m:b/0")});
    const auto found = tops.estimate();
    const auto stacks = by_caller(found);
    EXPECT_EQ(found.certain_words, 500);
    EXPECT_EQ(found.functions.at("m:f/0").words, 500);
    ASSERT_EQ(stacks.size(), 2U);
    EXPECT_EQ(stacks.at("m:main/0;m:a/0;m:f/0").words, 350) << "half of what is between them";
    EXPECT_EQ(stacks.at("m:main/0;m:a/0;m:f/0").certain_words, 300);
    EXPECT_EQ(stacks.at("m:main/0;m:b/0;m:f/0").words, 150);
    EXPECT_EQ(stacks.at("m:main/0;m:b/0;m:f/0").certain_words, 100);
    EXPECT_EQ(found.stacks.total(), 500U);
}

TEST(HeapTops, SamplesWithoutCallersCountToStacksOfTheirFunction) {
    HeapTops tops(kPeriod);
    tops.add_burst({called(0, 0, "m:f/0", "m:a/0"), at(50, 100, "m:f/0"), at(100, 150, "m:f/0")});
    const auto stacks = by_caller(tops.estimate());
    ASSERT_EQ(stacks.size(), 2U);
    EXPECT_EQ(stacks.at("m:main/0;m:a/0;m:f/0").words, 100);
    EXPECT_EQ(stacks.at("(callers not known);m:f/0").words, 50) << "no other sample has some";
}

TEST(HeapTops, AFirstFunctionIsAStackOfItsOwn) {
    HeapTops tops(kPeriod);
    auto first = at(0, 0, "m:main/0");
    first.callers.emplace();
    auto second = at(50, 100, "m:main/0");
    second.callers.emplace();
    tops.add_burst({first, second});
    EXPECT_EQ(by_caller(tops.estimate()).at("m:main/0").certain_words, 100);
}

}  // namespace
}  // namespace beamdump::sampler
