#include <libvm/memory/merged_reads.h>
#include <libvm/memory/present_pages.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace beamdump::memory {
namespace {

constexpr Address kFirst = 0x7F00'0000'0000;
constexpr std::size_t kSize = 16 * kLeastPageBytes;
/// A page in the middle that cannot be read.
constexpr Address kHole = kFirst + 8 * kLeastPageBytes;

/// Each byte is the low byte of its offset divided by 16.
class Counting final : public MemorySource {
  public:
    static std::byte byte_at(Address address) { return std::byte((address - kFirst) / 16 % 256); }

    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override {
        ++stats_.reads;
        if (address < kFirst || address >= kFirst + kSize ||
            (address >= kHole && address < kHole + kLeastPageBytes)) {
            return fail(ErrorCode::kUnmapped, "nothing is there");
        }
        const auto end = address < kHole ? kHole : kFirst + kSize;
        const auto bytes = std::min<std::size_t>(into.size(), end - address);
        for (std::size_t i = 0; i < bytes; ++i) {
            into[i] = byte_at(address + i);
        }
        return bytes;
    }
    [[nodiscard]] MemoryStats stats() const override { return stats_; }

  private:
    MemoryStats stats_;
};

class MergedReadsTest : public ::testing::Test {
  protected:
    void want(Address address, std::size_t bytes) {
        into_.emplace_back(bytes);
        reads_.push_back({address, into_.back(), false});
    }
    std::uint64_t read() {
        const auto before = source_.stats().reads;
        EXPECT_TRUE(merged_.read(source_, reads_));
        for (const auto& one : reads_) {
            for (std::size_t i = 0; one.done && i < one.into.size(); ++i) {
                EXPECT_EQ(one.into[i], Counting::byte_at(one.address + i));
            }
        }
        return source_.stats().reads - before;
    }
    std::vector<bool> done() const {
        std::vector<bool> all;
        for (const auto& one : reads_) {
            all.push_back(one.done);
        }
        return all;
    }

    Counting source_;
    MergedReads merged_;
    std::vector<BatchRead> reads_;
    std::vector<std::vector<std::byte>> into_;
};

TEST_F(MergedReadsTest, NeighboursAreReadInOnePiece) {
    into_.reserve(4);
    want(kFirst + 5000, 700);
    want(kFirst + 16, 100);
    want(kFirst + 1000, 3000);
    want(kFirst + 1100, 50);  // inside of another
    EXPECT_EQ(read(), 1U);
    EXPECT_EQ(done(), std::vector<bool>(4, true));
}

TEST_F(MergedReadsTest, AGapOfAPageIsNotRead) {
    into_.reserve(2);
    want(kFirst, 100);
    want(kFirst + 100 + kLeastPageBytes, 100);
    EXPECT_EQ(read(), 2U);
    EXPECT_EQ(done(), std::vector<bool>(2, true));
}

TEST_F(MergedReadsTest, ReadsThePartsOfAFailedPieceAlone) {
    into_.reserve(4);
    want(kHole - 200, 100);
    want(kHole - 50, 100);  // into the hole
    want(kHole + 10, 20);
    want(kFirst + 2 * kLeastPageBytes, 100);
    EXPECT_GT(read(), 2U);
    EXPECT_EQ(done(), (std::vector<bool>{true, false, false, true}));
}

TEST_F(MergedReadsTest, NothingAndTheEndOfAddresses) {
    into_.reserve(3);
    EXPECT_EQ(read(), 0U);
    want(~Address{0} - 8, 100);
    want(kUserEnd - 8, 100);
    want(kFirst, 8);
    read();
    EXPECT_EQ(done(), (std::vector<bool>{false, false, true}));
}

TEST_F(MergedReadsTest, CanBeUsedAgain) {
    into_.reserve(3);
    want(kFirst, 100);
    want(kFirst + 200, 100);
    EXPECT_EQ(read(), 1U);
    reads_.clear();
    want(kFirst + 400, 100);
    EXPECT_EQ(read(), 1U);
    EXPECT_EQ(done(), std::vector<bool>(1, true));
}

}  // namespace
}  // namespace beamdump::memory
