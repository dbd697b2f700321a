#include "top/top_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr std::int64_t kSecond = 1'000'000'000;

ProcessCounts process(std::uint32_t slot, std::uint64_t reductions) {
    return {.slot = {.slot = slot, .address = 0x1000 + 0x100ULL * slot},
            .owner_id = 100 + slot,
            .reductions = reductions,
            .heap_bytes = 1000,
            .messages = 10};
}

ProcessesRead reading(std::int64_t at_ns, std::vector<ProcessCounts> processes) {
    return {.processes = std::move(processes), .at_ns = at_ns};
}

TEST(TopRates, AreChangesASecond) {
    auto now = process(3, 5000);
    now.heap_bytes = 400;
    now.messages = 40;
    const auto rates = rates_between(reading(0, {process(1, 7), process(3, 1000), process(4, 2)}),
                                     reading(2 * kSecond, {now}));
    ASSERT_EQ(rates.size(), 1U);
    EXPECT_EQ(rates[0].counts.owner_id, 103U);
    EXPECT_THAT(rates[0].reductions, Optional(2000.0));
    EXPECT_THAT(rates[0].heap_growth, Optional(-300.0)) << "a heap may shrink";
    EXPECT_THAT(rates[0].queue_growth, Optional(15.0));
}

TEST(TopRates, ANewProcessHasNoRate) {
    auto other_process = process(2, 900);
    other_process.owner_id = 777;  // the slot is another process's now
    const auto rates =
        rates_between(reading(0, {process(2, 100)}),
                      reading(kSecond, {process(1, 50), other_process, process(9, 10)}));
    ASSERT_EQ(rates.size(), 3U);
    for (const auto& one : rates) {
        EXPECT_FALSE(one.reductions || one.heap_growth || one.queue_growth) << one.counts.owner_id;
    }
}

TEST(TopRates, CountsThatAreNotKnownHaveNone) {
    auto before = process(1, 100);
    auto now = process(1, 200);
    before.heap_bytes.reset();
    now.messages.reset();
    const auto rates = rates_between(reading(0, {before}), reading(kSecond, {now}));
    EXPECT_THAT(rates.at(0).reductions, Optional(100.0));
    EXPECT_FALSE(rates.at(0).heap_growth);
    EXPECT_FALSE(rates.at(0).queue_growth);
}

TEST(TopRates, ReductionsThatFellAreAnotherProcesss) {
    const auto rates =
        rates_between(reading(0, {process(1, 200)}), reading(kSecond, {process(1, 100)}));
    EXPECT_FALSE(rates.at(0).reductions);
    EXPECT_FALSE(rates.at(0).heap_growth);
}

TEST(TopRates, NeedTime) {
    const auto rates =
        rates_between(reading(kSecond, {process(1, 100)}), reading(kSecond, {process(1, 200)}));
    EXPECT_FALSE(rates.at(0).reductions);
}

/// Rates of processes with known ones, and one of which nothing is known.
std::vector<TopRates> some_rates() {
    std::vector<TopRates> rates;
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
        rates.push_back({.counts = process(slot, 0)});
    }
    rates[0].reductions = 5;
    rates[1].reductions = 7;
    rates[2].reductions = 7;
    rates[0].heap_growth = -100;
    rates[1].heap_growth = -200;
    rates[2].heap_growth = 0;
    rates[3].heap_growth = 1;
    rates[2].queue_growth = 0.5;
    rates[0].counts.heap_bytes = 1;
    rates[1].counts.heap_bytes.reset();
    rates[2].counts.heap_bytes = 3;
    rates[3].counts.heap_bytes = 2;
    rates[3].counts.messages = 1000;
    // Equal ones are in the order of their ids.
    rates[1].counts.owner_id = 900;
    return rates;
}

TEST(TopOrder, TheLargestFirstAndNoneWithoutAValue) {
    const auto rates = some_rates();
    EXPECT_THAT(sorted_by(rates, TopSort::kReductions, 10), ElementsAre(2, 1, 0));
    EXPECT_THAT(sorted_by(rates, TopSort::kGrowth, 10), ElementsAre(3, 2, 0, 1));
    EXPECT_THAT(sorted_by(rates, TopSort::kMemory, 10), ElementsAre(2, 3, 0));
    EXPECT_THAT(sorted_by(rates, TopSort::kQueue, 10), ElementsAre(3, 0, 2, 1));
    EXPECT_THAT(sorted_by(rates, TopSort::kQueueGrowth, 10), ElementsAre(2));
}

TEST(TopOrder, NoMoreThanAsked) {
    const auto rates = some_rates();
    EXPECT_THAT(sorted_by(rates, TopSort::kGrowth, 2), ElementsAre(3, 2));
    EXPECT_THAT(sorted_by(rates, TopSort::kGrowth, 0), IsEmpty());
    EXPECT_THAT(sorted_by({}, TopSort::kGrowth, 2), IsEmpty());
}

const ThreadGroup kFirst{records::SCHEDULER_KIND_NORMAL, 1};
const ThreadGroup kSecondOne{records::SCHEDULER_KIND_NORMAL, 2};
const ThreadGroup kDirty{records::SCHEDULER_KIND_DIRTY_CPU, 0};

TEST(Utilisation, IsThePartOfTheTime) {
    const NodeLoad before{.at_ns = 0, .threads = {{11, {kFirst, 100}}, {12, {kSecondOne, 0}}}};
    const NodeLoad after{.at_ns = kSecond,
                         .threads = {{11, {kFirst, 100 + kSecond / 4}},
                                     {12, {kSecondOne, kSecond + kSecond / 100}}}};
    const auto used = utilisation(before, after);
    ASSERT_EQ(used.size(), 2U);
    EXPECT_DOUBLE_EQ(used.at(kFirst), 0.25);
    EXPECT_DOUBLE_EQ(used.at(kSecondOne), 1.0) << "no thread runs for more than the time";
}

TEST(Utilisation, ThreadsTogetherAreProcessors) {
    const NodeLoad before{.at_ns = 0, .threads = {{21, {kDirty, 0}}, {22, {kDirty, 0}}}};
    const NodeLoad after{.at_ns = kSecond,
                         .threads = {{21, {kDirty, kSecond}}, {22, {kDirty, kSecond / 2}}}};
    EXPECT_DOUBLE_EQ(utilisation(before, after).at(kDirty), 1.5);
}

TEST(Utilisation, ThreadsThatAreInBothReadingsAreCompared) {
    const NodeLoad before{
        .at_ns = 0,
        .threads = {{11, {kFirst, 500}}, {12, {kSecondOne, 500}}, {13, {kSecondOne, 0}}}};
    // One has another id, one was another thread's, one's time fell.
    const NodeLoad after{
        .at_ns = kSecond,
        .threads = {{14, {kFirst, 900}}, {12, {kDirty, 900}}, {13, {kSecondOne, 0}}}};
    const auto used = utilisation(before, after);
    ASSERT_EQ(used.size(), 1U);
    EXPECT_EQ(used.at(kSecondOne), 0) << "known not to have run";
    const NodeLoad fell{.at_ns = kSecond, .threads = {{11, {kFirst, 400}}}};
    EXPECT_THAT(utilisation(before, fell), IsEmpty());
    EXPECT_THAT(utilisation(before, before), IsEmpty()) << "no time has passed";
}

TEST(ProcessorTicks, AreThoseOfUserAndSystem) {
    EXPECT_EQ(processor_ticks("42 (a) b (c) S 1 42 42 0 -1 4194304 5 6 7 8 120 34 0 0 20 0\n"),
              154U);
    EXPECT_EQ(processor_ticks("42 (beam.smp) S 1 42 42 0 -1 4194304 5 6 7 8 120\n"), std::nullopt);
    EXPECT_EQ(processor_ticks(""), std::nullopt);
}

TEST(ProcessorTime, IsTheFirstNumberOfSchedstat) {
    EXPECT_EQ(processor_ns("1724560 33000 12\n"), 1724560U);
    EXPECT_EQ(delayed_ns("1724560 33000 12\n"), 33000U);
    EXPECT_FALSE(delayed_ns("1724560\n"));
    EXPECT_FALSE(delayed_ns("x 33000 12\n"));
    EXPECT_EQ(processor_ns("0 0 0\n"), 0U);
    EXPECT_EQ(processor_ns("18446744073709551615 1 1\n"), 18446744073709551615U);
    for (const auto* text :
         {"", "\n", "12", "12\n", "12 \n", " 12 13 1\n", "12  13 1\n", "-1 2 3\n",
          "18446744073709551616 1 1\n", "12x 13 1\n", "12 x 1\n", "1.5 2 3\n"}) {
        EXPECT_FALSE(processor_ns(text)) << "'" << text << "'";
    }
}

}  // namespace
}  // namespace beamdump::sampler
