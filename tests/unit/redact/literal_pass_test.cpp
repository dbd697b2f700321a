#include <libdump/redact/literal_pass.h>

#include <gtest/gtest.h>

#include <vector>

namespace beamdump::redact {
namespace {

constexpr std::uint64_t kPages = 0x7F12'3400'0000;
constexpr std::uint64_t kSecret = 0x7465'7263'6573'2121;
constexpr std::size_t kWordsOfAPage = 512;
constexpr std::uint64_t kTupleOfTwo = 2U << 6U;
constexpr std::uint64_t kNumber = 0x1234'567F;
constexpr std::uint64_t kHidden = 0xF;

class Literals : public testing::Test {
  protected:
    Literals() { ranges_.add(kPages, kPages + 8192); }
    /// The words of a region after the pass.
    std::vector<std::uint64_t> passed(std::uint64_t address, std::vector<std::uint64_t> words) {
        pass_.start(address, words.size());
        pass_.run(std::as_writable_bytes(std::span(words)));
        return words;
    }
    static constexpr std::uint64_t address_of(std::size_t word) { return kPages + word * 8; }

    AddressRanges ranges_;
    LiteralPass pass_{WordPass(*scheme_of(format::TermScheme::kOtp25), Level::kStructure, ranges_)};
};

TEST_F(Literals, KeepsAreasAndZeroesTheRest) {
    // What the allocator has; a block in use of eight words: its area ends before the block.
    EXPECT_EQ(passed(kPages, {kSecret, 64, 0, address_of(7), kTupleOfTwo, kNumber, kNumber, kSecret,
                              kSecret}),
              (std::vector<std::uint64_t>{0, 0, 0, 0, kTupleOfTwo, kHidden, kHidden, 0, 0}));
}

TEST_F(Literals, ZeroesFreeBlocks) {
    EXPECT_EQ(passed(kPages, {kSecret, 64 | 1, 0, address_of(7), kTupleOfTwo, kNumber, kNumber,
                              kSecret, kSecret}),
              std::vector<std::uint64_t>(9));
}

TEST_F(Literals, ContinuesInAPageThatChanged) {
    std::vector<std::uint64_t> words(2 * kWordsOfAPage);
    words[0] = words.size() * 8;
    words[2] = address_of(words.size());
    for (std::size_t at = 3; at + 1 < words.size(); at += 2) {
        words[at] = kNumber;
        words[at + 1] = 0x3B;
    }
    const auto whole = passed(kPages, words);
    EXPECT_EQ(whole[3], kHidden);
    EXPECT_EQ(whole[kWordsOfAPage + 1], kHidden);
    const std::vector second(words.begin() + kWordsOfAPage, words.end());
    EXPECT_EQ(passed(kPages + 4096, second),
              std::vector(whole.begin() + kWordsOfAPage, whole.end()));
    // The area was freed: nothing is known of its second page any more.
    words[0] |= 1;
    words.resize(kWordsOfAPage);
    EXPECT_EQ(passed(kPages, words), std::vector<std::uint64_t>(kWordsOfAPage));
    EXPECT_EQ(passed(kPages + 4096, second), std::vector<std::uint64_t>(kWordsOfAPage));
}

}  // namespace
}  // namespace beamdump::redact
