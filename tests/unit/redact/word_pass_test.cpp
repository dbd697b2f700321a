#include "words.h"

#include <libdump/redact/word_pass.h>

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace beamdump::redact {
namespace {

using format::TermScheme;

constexpr std::uint64_t kHere = 0x7F12'3400'0000;
constexpr std::uint64_t kBoxed = kHere + 2;
constexpr std::uint64_t kList = kHere + 1;
constexpr std::uint64_t kAtom = 77U << 6U | 0xBU;
constexpr std::uint64_t kPid = 5U << 4U | 0x3U;

AddressRanges ranges() {
    AddressRanges ranges;
    ranges.add(kHere, kHere + 4096);
    return ranges;
}

TEST(AddressRanges, HaveTheAddressesOfEveryArchitecture) {
    constexpr std::uint64_t kOnX86 = 0x7F12'3400'0000, kOnAarch64 = 0xFFFF'8A00'0000;
    for (const auto& [here, elsewhere] :
         {std::pair(kOnX86, kOnAarch64), std::pair(kOnAarch64, kOnX86)}) {
        AddressRanges ranges;
        ranges.add(here, here + 4096);
        EXPECT_TRUE(ranges.has(here + 8)) << here;
        EXPECT_FALSE(ranges.has(elsewhere)) << here;
        EXPECT_FALSE(ranges.has(here | std::uint64_t{1} << 48U)) << here;
    }
}

/// The words after a pass that got them in pieces of so many words.
Words passed(TermScheme id, Level level, WordLayout layout, Words words, std::size_t piece,
             std::uint64_t* blanked = nullptr) {
    const auto where = ranges();
    WordPass pass(*scheme_of(id), level, where);
    pass.start(layout, words.size());
    const auto bytes = std::as_writable_bytes(std::span(words));
    for (std::size_t at = 0; at < bytes.size(); at += piece * 8) {
        pass.run(bytes.subspan(at, std::min(piece * 8, bytes.size() - at)));
    }
    if (blanked != nullptr) {
        *blanked = pass.blanked();
    }
    return words;
}

/// The same for each size of pieces; all are whole objects, none is blanked.
void expect_pass(TermScheme id, const Words& before, const Words& after,
                 Level level = Level::kStructure) {
    for (std::size_t piece = 1; piece <= before.size(); ++piece) {
        std::uint64_t blanked = 0;
        EXPECT_EQ(passed(id, level, WordLayout::kObjects, before, piece, &blanked), after) << piece;
        EXPECT_EQ(blanked, 0U);
    }
}

TEST(WordPass, HidesTermsOfAllReleases) {
    for (const auto id : {TermScheme::kOtp24, TermScheme::kOtp25, TermScheme::kOtp26,
                          TermScheme::kOtp27, TermScheme::kOtp29}) {
        // A tuple, two cells, a float, a big integer, an empty tuple, a map of two.
        expect_pass(
            id,
            {header(0, 5), small(42), kAtom, kBoxed, kPid, kNil, small('a'), kList, small('b'),
             kNil, header(6, 1), kText, header(2, 2), kText, kText, header(0, 0), kAtom, kNil},
            {header(0, 5), small(0), kAtom, kBoxed, kPid, kNil, small(0), kList, small(0), kNil,
             header(6, 1), 0, header(2, 2), 0xA5A5'A5A5'A5A5'A5A5, 0xA5A5'A5A5'A5A5'A5A5,
             header(0, 0), kAtom, kNil});
    }
}

TEST(WordPass, HidesObjectsOfOtp25) {
    expect_pass(TermScheme::kOtp25, {header(9, 3),  9,        kText,  kText,  // a heap binary
                                     header(10, 3), 7,        2,      kText << 24U | 0x000102,
                                     kBoxed,  // a part of one
                                     header(5, 4),  kHere,    0,      kText << 16U | 0x0203,
                                     kPid,          small(7), kBoxed,  // a fun
                                     header(15, 0), 2,        kBoxed, small(3),
                                     kAtom,  // a map
                                     header(8, 5),  700,      0,      kHere,
                                     kHere,         0},                             // off-heap
                {header(9, 3),  9,     kX,     kX,                                  //
                 header(10, 3), 7,     2,      0x000102, kBoxed,                    //
                 header(5, 4),  kHere, 0,      0x0203,   kPid,   small(0), kBoxed,  //
                 header(15, 0), 2,     kBoxed, small(0), kAtom,                     //
                 header(8, 5),  700,   0,      kHere,    kHere,  0});
}

TEST(WordPass, HidesFunsOfOtp24) {
    expect_pass(TermScheme::kOtp24,
                {header(5, 4), kHere, 0, 3, kText << 16U | 2, kPid, small(7), kBoxed,  // local
                 header(7, 1), kHere},                                                 // external
                {header(5, 4), kHere, 0, 3, 2, kPid, small(0), kBoxed, header(7, 1), kHere});
    EXPECT_EQ(passed(TermScheme::kOtp24, Level::kStructure, WordLayout::kObjects,
                     {header(7, 2), kHere, kText}, 3),
              (Words{0x8, 0x8, kNil}))
        << "headers of nothing";
}

TEST(WordPass, HidesObjectsOfOtp27) {
    expect_pass(TermScheme::kOtp27,
                {header(8, 3), 72, kText, kText,                                 // a bit string
                 header(9, 4), kHere | 1U, 8, 64, kBoxed,                        // a part of one
                 2U << 16U | 1U << 8U | header(5, 0), kHere, small(7), kBoxed},  // a fun
                {header(8, 3), 72, kX, kX,                                       //
                 header(9, 4), kHere | 1U, 8, 64, kBoxed,                        //
                 2U << 16U | 1U << 8U | header(5, 0), kHere, small(0), kBoxed});
}

TEST(WordPass, TextKeepsNumbersThatAreNoCharacters) {
    expect_pass(TermScheme::kOtp25,
                {header(0, 2), small('a'), small(1U << 21U), small('a'), kNil, small(1U << 21U),
                 kNil, header(6, 1), 0x3FF0'0000'0000'0000, header(9, 2), 8, kText},
                {header(0, 2), small('a'), small(1U << 21U), small('x'), kNil, small(1U << 21U),
                 kNil, header(6, 1), 0x3FF0'0000'0000'0000, header(9, 2), 8, kX},
                Level::kText);
}

TEST(WordPass, TextHidesBigIntegers) {
    // The VM fills unused words with them; what was there before stays.
    expect_pass(TermScheme::kOtp25, {header(2, 2), kText, kText},
                {header(2, 2), 0xA5A5'A5A5'A5A5'A5A5, 0xA5A5'A5A5'A5A5'A5A5}, Level::kText);
}

TEST(WordPass, OverwritesWhatIsNoTerm) {
    const Words texts = {0x2165'7461'7669'7270, 0x2164'726F'7773'7361, kText,
                         0x7061'7373'7061'7373};
    for (const auto layout :
         {WordLayout::kObjects, WordLayout::kTerms, WordLayout::kStack, WordLayout::kRow}) {
        for (const auto id :
             {TermScheme::kOtp25, TermScheme::kOtp26, TermScheme::kOtp27, TermScheme::kOtp29}) {
            std::uint64_t blanked = 0;
            const auto after = passed(id, Level::kText, layout, texts, 1, &blanked);
            for (std::size_t at = 0; at < texts.size(); ++at) {
                EXPECT_NE(after[at], texts[at]);
            }
            EXPECT_GT(blanked, 0U);
        }
    }
    // A pointer to memory that the node does not have, an object that does not fit.
    EXPECT_EQ(
        passed(TermScheme::kOtp25, Level::kStructure, WordLayout::kTerms, {0x7465'7263'6561, 0}, 2),
        (Words{kNil, 0}));
    EXPECT_EQ(passed(TermScheme::kOtp25, Level::kStructure, WordLayout::kObjects,
                     {header(9, 3), 9, kText}, 3)[2],
              kNil);
}

TEST(WordPass, KeepsReturnAddresses) {
    EXPECT_EQ(passed(TermScheme::kOtp25, Level::kStructure, WordLayout::kStack,
                     {kHere, small(9), 0x0100'0000'0000'0008, kAtom, 0}, 5),
              (Words{kHere, small(0), 0, kAtom, 0}));
}

TEST(WordPass, HidesCompressedRows) {
    // The key is not compressed, the element at byte 32 is; the row has 48 bytes.
    EXPECT_EQ(passed(TermScheme::kOtp25, Level::kStructure, WordLayout::kRow,
                     {header(0, 2), small(1), 32U << 2U, 48, kText, kText}, 6),
              (Words{header(0, 2), small(0), 32U << 2U, 48, kX, kX}));
    EXPECT_EQ(passed(TermScheme::kOtp25, Level::kStructure, WordLayout::kRow,
                     {header(0, 2), small(1), kAtom, 32}, 4),
              (Words{header(0, 2), small(0), kAtom, 32}));
}

}  // namespace
}  // namespace beamdump::redact
