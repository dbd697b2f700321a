#include "support/fake_memory.h"

#include <libvm/memory/prefetched.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::memory {
namespace {

using beamdump::test::FakeMemory;

constexpr Address kHeap = 0x1000;
constexpr Address kStack = 0x9000;

TEST(Prefetched, ServesWhatWasReadAheadAsItWasThen) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1, 2, 3, 4});
    fake.add_words("stack", kStack, {9, 8});
    Prefetched held;
    PrefetchedMemory memory(fake, held);
    const std::array<AddressRange, 2> parts = {{{kHeap, kHeap + 24}, {kStack, kStack + 16}}};
    ASSERT_TRUE(held.read(fake, parts));
    fake.put(kHeap, std::uint64_t{100});
    fake.put(kHeap + 24, std::uint64_t{400});
    EXPECT_EQ(memory.word(kHeap).value(), 1U);
    EXPECT_EQ(memory.word(kStack + 8).value(), 8U);
    EXPECT_EQ(memory.word(kHeap + 24).value(), 400U);  // behind the part: the source's own
    std::array<std::uint64_t, 4> across{};
    ASSERT_TRUE(memory.read(kHeap, std::as_writable_bytes(std::span(across))));
    EXPECT_EQ(across, (std::array<std::uint64_t, 4>{1, 2, 3, 400}));
    held.drop();
    EXPECT_EQ(memory.word(kHeap).value(), 100U);
}

TEST(Prefetched, AddsToWhatWasReadBefore) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1, 2, 3, 4});
    fake.add_words("stack", kStack, {9, 8});
    Prefetched held;
    PrefetchedMemory memory(fake, held);
    ASSERT_TRUE(held.read(fake, std::array<AddressRange, 1>{{{kHeap, kHeap + 16}}}));
    ASSERT_TRUE(held.add(fake, std::array<AddressRange, 1>{{{kStack, kStack + 16}}}));
    fake.put(kHeap + 8, std::uint64_t{200});
    fake.put(kStack, std::uint64_t{900});
    EXPECT_EQ(memory.word(kStack).value(), 9U);
    EXPECT_EQ(memory.word(kHeap + 8).value(), 2U);
    EXPECT_EQ(memory.word(kStack + 8).value(), 8U);
    ASSERT_TRUE(held.read(fake, std::array<AddressRange, 1>{{{kStack, kStack + 8}}}));
    EXPECT_EQ(memory.word(kStack).value(), 900U);
    EXPECT_EQ(memory.word(kHeap + 8).value(), 200U);
}

TEST(Prefetched, RepeatReadsTogetherWhatWasReadBefore) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1, 2, 3, 4});
    fake.add_words("stack", kStack, {9, 8});
    Prefetched held;
    PrefetchedMemory memory(fake, held);
    ASSERT_TRUE(held.repeat(fake));
    EXPECT_EQ(memory.word(kHeap).value(), 1U);
    EXPECT_EQ(memory.word(kStack + 8).value(), 8U);
    EXPECT_EQ(memory.misses(), 2U);
    fake.put(kHeap, std::uint64_t{100});
    ASSERT_TRUE(held.repeat(fake));
    EXPECT_EQ(memory.word(kHeap).value(), 100U);
    EXPECT_EQ(memory.word(kStack + 8).value(), 8U);
    EXPECT_EQ(memory.misses(), 2U);
    // What is read no more is not read ahead either, and what is read in its place is, from then
    // on.
    ASSERT_TRUE(held.repeat(fake));
    EXPECT_EQ(memory.word(kHeap).value(), 100U);
    EXPECT_EQ(memory.word(kHeap + 24).value(), 4U);
    EXPECT_EQ(memory.misses(), 3U);
    ASSERT_TRUE(held.repeat(fake));
    EXPECT_TRUE(held.at(kStack + 8).empty());
    EXPECT_EQ(memory.word(kHeap + 24).value(), 4U);
    EXPECT_EQ(memory.misses(), 3U);
    // After drop() nothing is noted, as in a walk over all processes.
    held.drop();
    EXPECT_EQ(memory.word(kStack).value(), 9U);
    ASSERT_TRUE(held.repeat(fake));
    EXPECT_TRUE(held.at(kStack).empty());
    EXPECT_FALSE(held.at(kHeap + 24).empty());
}

TEST(Prefetched, HoldsWhatWasReadElsewhereAndCountsWhatIsReadBesideIt) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1, 2, 3, 4});
    Prefetched held;
    PrefetchedMemory memory(fake, held);
    std::array<std::uint64_t, 2> words = {7, 8};
    held.hold(std::array<HeldPart, 1>{{{{kHeap, kHeap + 16}, std::as_bytes(std::span(words))}}});
    words = {};
    EXPECT_EQ(memory.word(kHeap).value(), 7U);
    EXPECT_EQ(memory.word(kHeap + 8).value(), 8U);
    ASSERT_TRUE(memory.read_batch({}));
    EXPECT_EQ(memory.misses(), 0U);
    EXPECT_EQ(memory.word(kHeap + 16).value(), 3U);
    EXPECT_EQ(memory.misses(), 1U);
}

TEST(Prefetched, LeavesOutWhatCannotBeRead) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1, 2});
    Prefetched held;
    const std::array<AddressRange, 3> parts = {
        {{kHeap, kHeap + 4096}, {kHeap + 8, kHeap + 16}, {kStack, kStack}}};
    ASSERT_TRUE(held.read(fake, parts));
    EXPECT_TRUE(held.at(kHeap).empty());
    EXPECT_EQ(held.at(kHeap + 8).size(), 8U);
    EXPECT_TRUE(held.at(kStack).empty());
}

TEST(Prefetched, PassesTheEndOfTheTargetOn) {
    FakeMemory fake;
    fake.add_words("heap", kHeap, {1});
    fake.die();
    Prefetched held;
    const std::array<AddressRange, 1> parts = {{{kHeap, kHeap + 8}}};
    const auto read = held.read(fake, parts);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kTargetDied);
}

}  // namespace
}  // namespace beamdump::memory
