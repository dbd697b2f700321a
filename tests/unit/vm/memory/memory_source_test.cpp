#include "support/fake_memory.h"

#include <libvm/memory/memory_source.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace beamdump::memory {
namespace {

using beamdump::test::FakeMemory;
using ::testing::HasSubstr;

/// Gives one byte at a time, as a source may.
class OneByteAtATime final : public MemorySource {
  public:
    explicit OneByteAtATime(MemorySource& source) : source_(source) {}
    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override {
        return source_.read_some(address, into.first(std::min<std::size_t>(into.size(), 1)));
    }
    [[nodiscard]] MemoryStats stats() const override { return source_.stats(); }

  private:
    MemorySource& source_;
};

TEST(MemorySource, ReadsAllAcrossPartialReads) {
    FakeMemory fake;
    fake.add_words("words", 0x1000, {1, 0x1122334455667788});
    OneByteAtATime slow(fake);
    EXPECT_EQ(slow.word(0x1008).value(), 0x1122334455667788U);
    EXPECT_EQ(fake.stats().reads, 8U);
}

TEST(MemorySource, ReadsOverTheBorderOfSegments) {
    FakeMemory fake;
    fake.add_words("low", 0x1000, {7});
    fake.add_words("high", 0x1008, {9});
    std::array<std::uint64_t, 2> words{};
    ASSERT_TRUE(fake.read(0x1000, std::as_writable_bytes(std::span(words))));
    EXPECT_EQ(words[0], 7U);
    EXPECT_EQ(words[1], 9U);
}

TEST(MemorySource, ReadsUnalignedValues) {
    FakeMemory fake;
    fake.add_words("words", 0x1000, {0x8877665544332211, 0});
    EXPECT_EQ(fake.value<std::uint16_t>(0x1003).value(), 0x5544U);
}

TEST(MemorySource, NamesAddressAndSizeWhereMemoryEnds) {
    FakeMemory fake;
    fake.add("four", 0x2000, 4);
    const auto word = fake.word(0x2000);
    ASSERT_FALSE(word);
    EXPECT_EQ(word.error().code, ErrorCode::kUnmapped);
    EXPECT_THAT(word.error().message, HasSubstr("8 bytes at 0x2000"));
    EXPECT_THAT(word.error().message, HasSubstr("0x2004"));
}

TEST(MemorySource, BatchMarksOnlyWhatSucceeded) {
    FakeMemory fake;
    fake.add_words("words", 0x1000, {5, 6});
    std::array<std::uint64_t, 3> got{};
    const auto bytes = [&](std::size_t i) {
        return std::as_writable_bytes(std::span(got).subspan(i, 1));
    };
    std::array<BatchRead, 3> reads{{{0x1000, bytes(0)}, {0x9000, bytes(1)}, {0x1008, bytes(2)}}};
    ASSERT_TRUE(fake.read_batch(reads));
    EXPECT_TRUE(reads[0].done);
    EXPECT_FALSE(reads[1].done);
    EXPECT_TRUE(reads[2].done);
    EXPECT_EQ(got[0], 5U);
    EXPECT_EQ(got[2], 6U);
}

TEST(MemorySource, BatchFailsOnlyWhenTheTargetIsGone) {
    FakeMemory fake;
    fake.add_words("words", 0x1000, {5});
    fake.die();
    std::uint64_t got = 0;
    std::array<BatchRead, 1> reads{{{0x1000, std::as_writable_bytes(std::span(&got, 1))}}};
    const auto done = fake.read_batch(reads);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kTargetDied);
    EXPECT_EQ(fake.word(0x1000).error().code, ErrorCode::kTargetDied);
}

}  // namespace
}  // namespace beamdump::memory
