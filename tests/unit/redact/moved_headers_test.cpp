#include "words.h"

#include <libdump/redact/moved_headers.h>
#include <libdump/redact/word_pass.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace beamdump::redact {
namespace {

using format::TermScheme;

constexpr std::uint64_t kFrom = 0x7F12'3400'0000;
constexpr std::uint64_t kTarget = 0x7F56'7800'0000;

constexpr std::uint64_t boxed(std::uint64_t address) {
    return address | 2U;
}

constexpr std::uint64_t kSubBinary = header(10, 3);

/// Words of a collected heap at kFrom, and of copies at kTarget.
class MovedWords final : public MovedHeaders {
  public:
    MovedWords(const TagScheme& scheme, Words from, Words target)
        : MovedHeaders(scheme), words_{{kFrom, std::move(from)}, {kTarget, std::move(target)}} {}

    [[nodiscard]] bool is_target(std::uint64_t address) const override {
        return kTarget <= address && address < kTarget + 4096;
    }

  private:
    std::size_t words(std::uint64_t address, std::span<std::uint64_t> into) override {
        const auto& [begin, words] = *std::prev(words_.upper_bound(address));
        const auto first = std::min<std::size_t>((address - begin) / kWordBytes, words.size());
        const auto count = std::min(into.size(), words.size() - first);
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(first), count, into.begin());
        return count;
    }

    std::map<std::uint64_t, Words> words_;
};

/// The collected words after a pass that got them in pieces of so many words.
Words passed_collected(TermScheme id, Words from, const Words& target, std::size_t piece,
                       std::uint64_t* blanked = nullptr) {
    AddressRanges ranges;
    ranges.add(kFrom, kFrom + 4096);
    ranges.add(kTarget, kTarget + 4096);
    MovedWords moved(*scheme_of(id), from, target);
    WordPass pass(*scheme_of(id), Level::kStructure, ranges);
    pass.moved(&moved);
    pass.start(WordLayout::kCollected, from.size());
    const auto bytes = std::as_writable_bytes(std::span(from));
    for (std::size_t at = 0; at < bytes.size(); at += piece * kWordBytes) {
        pass.at(kFrom + at);
        pass.run(bytes.subspan(at, std::min(piece * kWordBytes, bytes.size() - at)));
    }
    if (blanked != nullptr) {
        *blanked = pass.blanked();
    }
    EXPECT_EQ(moved.any_unknown(), pass.blanked() != 0);
    return from;
}

TEST(MovedHeaders, WordsOfMovedObjectsAreHiddenByTheirKinds) {
    // A heap binary and a tuple that were moved, a cell that was moved, a float that was not.
    const Words from = {boxed(kTarget), 8,        kText,        boxed(kTarget + 24),
                        small(7),       0,        kTarget + 41, header(6, 1),
                        kText,          small(3), kNil};
    const Words target = {header(9, 2), 8, kText, header(0, 1), small(7), small(1), kNil};
    Words after = from;
    after[2] = kX;
    after[4] = after[9] = small(0);
    after[8] = 0;
    for (std::size_t piece = 1; piece <= from.size(); ++piece) {
        std::uint64_t blanked = 0;
        EXPECT_EQ(passed_collected(TermScheme::kOtp25, from, target, piece, &blanked), after)
            << piece;
        EXPECT_EQ(blanked, 0U);
    }
}

TEST(MovedHeaders, SubBinaryThatBecameHeapBinaryHasFiveWords) {
    // Behind it a small integer in a cell: with the copy's three words it would be read as more.
    const Words from = {boxed(kTarget), 8, 65, 0x7F00'0000'0000, boxed(kFrom), small(3), kNil};
    const Words target = {header(9, 2), 8, kText};
    EXPECT_EQ(passed_collected(TermScheme::kOtp25, from, target, 7),
              (Words{boxed(kTarget), 8, 65, 0, boxed(kFrom), small(0), kNil}));
}

TEST(MovedHeaders, NothingRemainsBehindAnObjectOfUnknownSize) {
    std::uint64_t blanked = 0;
    EXPECT_EQ(passed_collected(TermScheme::kOtp25,
                               {small(1), kNil, boxed(kTarget), kText, kText, small(2)}, {small(5)},
                               6, &blanked),
              (Words{small(0), kNil, 0, 0, 0, 0}));
    EXPECT_EQ(blanked, 1U);
}

TEST(MovedHeaders, CollectedWordsAreBlankWhereNothingIsKnown) {
    AddressRanges ranges;
    WordPass pass(*scheme_of(TermScheme::kOtp27), Level::kStructure, ranges);
    pass.start(WordLayout::kCollected, 2);
    Words words = {header(0, 1), small(1)};
    pass.run(std::as_writable_bytes(std::span(words)));
    EXPECT_EQ(words, (Words{0, 0}));
}

TEST(MovedHeaders, HeaderIsTheCopysUnlessItWasConverted) {
    const auto of25 = *scheme_of(TermScheme::kOtp25);
    const auto of = [&](const Words& original, const Words& copy) {
        return header_before_move(of25, original, copy);
    };
    EXPECT_EQ(of({boxed(kTarget), small(1)}, {header(0, 1), small(1)}), header(0, 1));
    EXPECT_EQ(of({boxed(kTarget), 0}, {small(1), 0}), std::nullopt);
    EXPECT_EQ(of({boxed(kTarget), 0}, {}), std::nullopt);
    // An empty binary: a part of another, and one of its own before a cell that was moved.
    EXPECT_EQ(of({boxed(kTarget), 0, 9, 0, boxed(kFrom)}, {header(9, 1), 0}), kSubBinary);
    EXPECT_EQ(of({boxed(kTarget), 0, small(1), 0, kTarget + 1}, {header(9, 1), 0}), header(9, 1));
    // Two words of data, which an object of its own has too.
    const Words data = {header(9, 3), 9, kText, 0x21};
    EXPECT_EQ(of({boxed(kTarget), 9, kText, 0x21, boxed(kTarget)}, data), header(9, 3));
    EXPECT_EQ(of({boxed(kTarget), 9, 3, 0xFF00'0000, boxed(kFrom)}, data), kSubBinary);
    // Both look alike: nine zeros at the beginning of another binary.
    EXPECT_EQ(of({boxed(kTarget), 9, 0, 0, boxed(kFrom)}, {header(9, 3), 9, 0, 0}), std::nullopt);
    // From OTP 27 on no object is converted.
    EXPECT_EQ(header_before_move(*scheme_of(TermScheme::kOtp27),
                                 Words{boxed(kTarget), 64, 9, 0, boxed(kFrom)},
                                 Words{header(8, 2), 64, kText}),
              header(8, 2));
}

}  // namespace
}  // namespace beamdump::redact
