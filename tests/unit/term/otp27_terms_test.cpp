// Terms as OTP 27 lays them out and prints them, where that differs from OTP 25; OTP 29 does the
// same, but for funs.

#include "bit_terms.h"

namespace beamdump::testing {
namespace {

class SinceOtp27 : public BitTerms, public ::testing::WithParamInterface<format::TermScheme> {
  protected:
    SinceOtp27() : BitTerms(GetParam()) {}
};

class Otp27Terms : public BitTerms {
  protected:
    Otp27Terms() : BitTerms(format::TermScheme::kOtp27) {}
};

INSTANTIATE_TEST_SUITE_P(Schemes, SinceOtp27,
                         ::testing::Values(format::TermScheme::kOtp27, format::TermScheme::kOtp29));

TEST_P(SinceOtp27, PidsHaveANumberOf28BitsAndASerialOf32) {
    EXPECT_EQ(text((Word{7} << 28U | 70000U) << 4U | 3U), "<0.70000.7>");
    EXPECT_EQ(text(Word{0xFFFF'FFFF} << 32U | 0x3U), "<0.0.4294967295>");
    EXPECT_EQ(text((Word{1} << 40U) << 4U | 7U), "#Port<0.1099511627776>");
}

TEST_P(SinceOtp27, AnAliasShowsItsPidToo) {
    EXPECT_EQ(text(b.reference({1, 2, 3})), "#Ref<0.3.2.1>");
    EXPECT_EQ(text(b.pid_reference({1, 2, 3}, 0x5'0000'3503)), "#Ref<0.5.13571.3.2.1>");
}

TEST_P(SinceOtp27, BitStringsOnTheHeap) {
    EXPECT_EQ(text(heap_bits("abc", 24)), "<<\"abc\">>");
    EXPECT_EQ(text(heap_bits("a \"quoted\" one", 14 * 8)), "<<\"a \\\"quoted\\\" one\">>");
    EXPECT_EQ(text(heap_bits("", 0)), "<<>>");
    EXPECT_EQ(text(heap_bits("\x01\xA0", 11)), "<<1,5:3>>");
    EXPECT_EQ(text(heap_bits(std::string(64, 'x'), 512)), "<<\"" + std::string(64, 'x') + "\">>");
}

TEST_P(SinceOtp27, PartsOfOffHeapBitStrings) {
    const auto whole = binary("0123456789");
    const auto data = whole + 25;
    const auto reference = bin_ref(whole);
    EXPECT_EQ(text(sub_bits(reference, data & ~Word{3}, (data & 3U) * 8, (data & 3U) * 8 + 80)),
              "<<\"0123456789\">>");
    EXPECT_EQ(
        text(sub_bits(reference, data & ~Word{3}, (data & 3U) * 8 + 16, (data & 3U) * 8 + 40)),
        "<<\"234\">>");
    EXPECT_EQ(text(sub_bits(reference, data & ~Word{3}, (data & 3U) * 8 + 4, (data & 3U) * 8 + 15)),
              "<<3,0:3>>");
    EXPECT_EQ(text(reference), "#BinRef");
    EXPECT_EQ(malformed, 0U);
}

TEST_P(SinceOtp27, ABinaryThatMayMoveIsFollowed) {
    const auto whole = binary("moved here");
    EXPECT_EQ(text(sub_bits(bin_ref(whole), 0x7777'0003, 0, 80)), "<<\"moved here\">>");
}

TEST_P(SinceOtp27, PartsThatAreNotInTheirWholeAreMarked) {
    const auto whole = binary("0123456789");
    const auto base = (whole + 25) & ~Word{3};
    EXPECT_EQ(text(sub_bits(bin_ref(whole), base, 8, 96)).substr(0, 12), "#Unreadable<");
    EXPECT_EQ(text(sub_bits(bin_ref(whole), base, 0, 8)).substr(0, 12), "#Unreadable<");
    EXPECT_EQ(text(sub_bits(bin_ref(whole), base, 40, 8)).substr(0, 12), "#Unreadable<");
    EXPECT_EQ(text(sub_bits(TermBuilder::small(1), base, 8, 16)).substr(0, 12), "#Unreadable<");
    EXPECT_EQ(text(sub_bits(bin_ref(0x1234), base, 8, 88)), "#Bin<10 bytes>");
    const auto on_heap = heap_bits("abcdef", 48);
    EXPECT_EQ(text(sub_bits(on_heap, pointer_of(on_heap) + 16 + 1, 0, 56)).substr(0, 12),
              "#Unreadable<");
}

TEST_P(SinceOtp27, AMatchContextPrintsAsWhatIsLeftToMatch) {
    const auto on_heap = heap_bits("abcdef", 48);
    const auto context_word = sub_bits(on_heap, (pointer_of(on_heap) + 16) | 1U, 16, 48);
    EXPECT_EQ(text(context_word), "<<\"cdef\">>");
    const auto found = object(context_word);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->words, 5U);
    EXPECT_EQ(found->copy_words, 3U);
    EXPECT_TRUE(found->keeps_only());
}

TEST_F(Otp27Terms, LocalAndExternalFuns) {
    context.funs[0x9000] = {
        .module_atom = context.intern("some_module"), .index = 3, .old_uniq = -17};
    const auto reference =
        TermBuilder::boxed(b.put({TermBuilder::header(2, kFunRefSubtag), 0x9000, 0}));
    const auto local =
        TermBuilder::boxed(b.put({Word{3} << 16U | Word{2} << 8U | kFunSubtag << 2U, 0x9000,
                                  TermBuilder::small(1), b.atom("free"), reference}));
    EXPECT_EQ(text(local), "#Fun<some_module.3.-17>");
    EXPECT_EQ(text(reference), "#FunRef");
    const auto found = object(local);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->words, 5U);
    EXPECT_EQ(found->terms.first, 2U);
    EXPECT_EQ(found->terms.count, 3U);
    context.exports[0xA000] = context.function("lists", "map", 2);
    EXPECT_EQ(text(TermBuilder::boxed(b.put({Word{2} << 8U | kFunSubtag << 2U, 0xA000}))),
              "fun lists:map/2");
}

TEST_P(SinceOtp27, LargeMapsPrintAsTheirPairs) {
    const auto pair = [&](std::int64_t key, std::int64_t value) {
        return b.cons(TermBuilder::small(key), TermBuilder::small(value));
    };
    const auto inner = TermBuilder::boxed(
        b.put({map_header(kHashNode, 0x3), pair(3, 30), b.tuple({pair(4, 40), pair(5, 50)})}));
    const auto map =
        TermBuilder::boxed(b.put({map_header(kHashHead, 0x7), 5, pair(1, 10), inner, pair(2, 20)}));
    EXPECT_EQ(text(map), "#{1=>10,3=>30,4=>40,5=>50,2=>20}");
    EXPECT_EQ(text(b.list({map, b.atom("last")})), "[#{1=>10,3=>30,4=>40,5=>50,2=>20},last]");
    // The map, two pairs of two, the inner node, and 3's key and value: 3's value is one too many.
    EXPECT_EQ(text(map, 5), "#{1=>10,3=>... ");
    EXPECT_EQ(malformed, 0U);
}

TEST_P(SinceOtp27, AReferenceToAnOffHeapBinaryIsCountedWithItsPart) {
    const auto part = sub_bits(bin_ref(binary("x")), 0x5000'1019 & ~Word{3}, 8, 16);
    const auto found = object(part);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->words, 5U);
    EXPECT_EQ(found->copy_words, 5U);
    EXPECT_FALSE(found->keeps_only());
    EXPECT_EQ(found->terms.count, 1U);
}

TEST_F(Otp27Terms, HeadersOfOtp25AreNoObjects) {
    for (const Word subtag : {7U, 12U + 3U}) {
        EXPECT_EQ(boxed_kind(scheme, TermBuilder::header(2, subtag)), BoxedKind::kUnknown);
    }
}

}  // namespace
}  // namespace beamdump::testing
