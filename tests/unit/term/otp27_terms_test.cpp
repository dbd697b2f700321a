// Terms as OTP 27 lays them out and prints them, where that differs from OTP 25.

#include "print_term.h"

#include <libdump/term/heap_object.h>

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

using Word = std::uint64_t;

constexpr Word kFunRefSubtag = 1;
constexpr Word kFunSubtag = 5;
constexpr Word kHeapBitsSubtag = 8;
constexpr Word kSubBitsSubtag = 9;
constexpr Word kBinRefSubtag = 10;
constexpr Word kMapSubtag = 11;
constexpr Word kHashNode = 1;
constexpr Word kHashHead = 2;

class Otp27Terms : public ::testing::Test {
  protected:
    std::string text(Word word, std::int64_t limit = kNoTermLimit) {
        TermPrinter printer(context, scheme, limit);
        printer.start(word);
        std::string printed;
        while (printer.next(100, printed) != 0) {
        }
        malformed = printer.statistics().malformed;
        absent = printer.statistics().absent;
        return printed;
    }

    std::optional<HeapObject> object(Word word) {
        WordReader reader(context);
        return heap_object(scheme, reader, word);
    }

    static Word packed(std::string_view bytes, std::size_t at) {
        Word word = 0;
        std::memcpy(&word, bytes.data() + at, std::min(bytes.size() - at, kWordBytes));
        return word;
    }

    /// `bits` of `bytes`.
    Word heap_bits(std::string_view bytes, Word bits) {
        std::vector<Word> words = {0, bits};
        for (std::size_t at = 0; at * 8 < bits; at += kWordBytes) {
            words.push_back(packed(bytes, at));
        }
        words[0] = TermBuilder::header(words.size() - 1, kHeapBitsSubtag);
        return TermBuilder::boxed(b.put(words));
    }

    /// A Binary whose bytes begin behind its own address.
    Word binary(const std::string& bytes) {
        next_binary += 0x1000;
        BinaryInfo info;
        info.size_bytes = bytes.size();
        info.captured_bytes = bytes.size();
        info.data_address = next_binary + 25;
        context.binaries[next_binary] = {info, bytes};
        return next_binary;
    }

    Word bin_ref(Word of) {
        return TermBuilder::boxed(b.put({TermBuilder::header(2, kBinRefSubtag), of, 0}));
    }

    Word sub_bits(Word original, Word base_and_flags, Word start, Word end) {
        return TermBuilder::boxed(
            b.put({TermBuilder::header(4, kSubBitsSubtag), base_and_flags, start, end, original}));
    }

    static Word map_header(Word type, Word bitmap) {
        return bitmap << 16U | (type == kHashHead ? 1U << 8U : 0U) | type << 6U | kMapSubtag << 2U;
    }

    FakeTermContext context;
    TermBuilder b{context};
    TagScheme scheme = scheme_of(format::TermScheme::kOtp27).value();
    Word next_binary = 0x5000'0000;
    std::uint64_t malformed = 0;
    std::uint64_t absent = 0;
};

TEST_F(Otp27Terms, PidsHaveANumberOf28BitsAndASerialOf32) {
    EXPECT_EQ(text((Word{7} << 28U | 70000U) << 4U | 3U), "<0.70000.7>");
    EXPECT_EQ(text(Word{0xFFFF'FFFF} << 32U | 0x3U), "<0.0.4294967295>");
    EXPECT_EQ(text((Word{1} << 40U) << 4U | 7U), "#Port<0.1099511627776>");
}

TEST_F(Otp27Terms, AnAliasShowsItsPidToo) {
    EXPECT_EQ(text(b.reference({1, 2, 3})), "#Ref<0.3.2.1>");
    EXPECT_EQ(text(b.pid_reference({1, 2, 3}, 0x5'0000'3503)), "#Ref<0.5.13571.3.2.1>");
}

TEST_F(Otp27Terms, BitStringsOnTheHeap) {
    EXPECT_EQ(text(heap_bits("abc", 24)), "<<\"abc\">>");
    EXPECT_EQ(text(heap_bits("a \"quoted\" one", 14 * 8)), "<<\"a \\\"quoted\\\" one\">>");
    EXPECT_EQ(text(heap_bits("", 0)), "<<>>");
    EXPECT_EQ(text(heap_bits("\x01\xA0", 11)), "<<1,5:3>>");
    EXPECT_EQ(text(heap_bits(std::string(64, 'x'), 512)), "<<\"" + std::string(64, 'x') + "\">>");
}

TEST_F(Otp27Terms, PartsOfOffHeapBitStrings) {
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

TEST_F(Otp27Terms, ABinaryThatMayMoveIsFollowed) {
    const auto whole = binary("moved here");
    EXPECT_EQ(text(sub_bits(bin_ref(whole), 0x7777'0003, 0, 80)), "<<\"moved here\">>");
}

TEST_F(Otp27Terms, PartsThatAreNotInTheirWholeAreMarked) {
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

TEST_F(Otp27Terms, AMatchContextPrintsAsWhatIsLeftToMatch) {
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

TEST_F(Otp27Terms, LargeMapsPrintAsTheirPairs) {
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

TEST_F(Otp27Terms, AReferenceToAnOffHeapBinaryIsCountedWithItsPart) {
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
