#include "print_term.h"

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

class TermPrinterBinaryTest : public ::testing::Test {
  protected:
    std::string text(std::uint64_t word) {
        TermPrinter printer(context, otp25_scheme());
        auto whole = print_with(printer, word, 1U << 16U);
        statistics = printer.statistics();
        EXPECT_EQ(print(context, word, kNoTermLimit, 1), whole);
        return whole;
    }

    FakeTermContext context;
    TermBuilder b{context};
    PrintStatistics statistics;
};

TEST_F(TermPrinterBinaryTest, SubBinariesShowTheirPart) {
    const auto heap = b.heap_binary("hello world");
    const auto refc = b.refc_binary("hello world" + std::string(100, '!'));
    for (const auto original : {heap, refc}) {
        EXPECT_EQ(text(b.sub_binary(original, 6, 5)), "<<\"world\">>");
        EXPECT_EQ(text(b.sub_binary(original, 3, 0)), "<<>>");
        // <<_:4, Rest:2/binary, _/bits>> of "hello world", and with three bits more.
        EXPECT_EQ(text(b.sub_binary(original, 0, 2, 4)), "<<134,86>>");
        EXPECT_EQ(text(b.sub_binary(original, 0, 2, 4, 3)), "<<134,86,6:3>>");
        EXPECT_EQ(text(b.sub_binary(original, 0, 0, 6, 7)), "<<12:7>>");
    }
    EXPECT_EQ(statistics.malformed + statistics.absent + statistics.partial_binaries, 0U);
}

TEST_F(TermPrinterBinaryTest, ShiftedBinariesOfAnyLengthAgreeWithPlainOnes) {
    std::string plain;
    for (int i = 0; i < 3000; ++i) {
        plain.push_back(static_cast<char>('a' + i % 26));
    }
    for (unsigned shift = 1; shift < 8; ++shift) {
        std::string shifted(plain.size() + 1, '\0');
        for (std::size_t i = 0; i < plain.size(); ++i) {
            const auto c = static_cast<unsigned char>(plain[i]);
            shifted[i] = static_cast<char>(shifted[i] | c >> shift);
            shifted[i + 1] = static_cast<char>(c << (8 - shift));
        }
        const auto original = b.refc_binary(shifted);
        EXPECT_EQ(print(context, b.sub_binary(original, 0, plain.size(), shift)),
                  "<<\"" + plain + "\">>");
    }
}

/// Short ones are examined eight bytes at a time: the same as one byte at a time.
TEST_F(TermPrinterBinaryTest, AnyByteAtAnyPlaceDecidesOverTheWholeText) {
    for (std::size_t size = 1; size <= 17; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (unsigned byte = 0; byte < 256; ++byte) {
                std::string content(size, 'a');
                content[at] = static_cast<char>(byte);
                std::string expected = "<<";
                if (byte >= ' ' && byte < 127) {
                    expected += '"' + content.substr(0, at) + (byte == '"' ? "\\" : "") +
                                content.substr(at) + '"';
                } else {
                    for (std::size_t i = 0; i < size; ++i) {
                        expected += (i == 0 ? "" : ",") + std::to_string(i == at ? byte : 'a');
                    }
                }
                EXPECT_EQ(print(context, b.heap_binary(content)), expected + ">>");
            }
        }
    }
}

TEST_F(TermPrinterBinaryTest, WritableBinariesShowTheirUsedPart) {
    const auto whole = b.refc_binary("abc" + std::string(200, '\0'));
    b.poke(pointer_of(whole) + 8, 3);
    EXPECT_EQ(text(whole), "<<\"abc\">>");
}

TEST_F(TermPrinterBinaryTest, PartialBinariesAreMarked) {
    EXPECT_EQ(text(b.refc_binary(std::string(1024, 'x'), 4)),
              "#Bin<1024 bytes, first 4: <<\"xxxx\">>>");
    EXPECT_EQ(statistics.partial_binaries, 1U);
    EXPECT_EQ(statistics.lost_binaries, 1U);
    EXPECT_EQ(text(b.refc_binary(std::string(70, '\1'), 2)), "#Bin<70 bytes, first 2: <<1,1>>>");
    EXPECT_EQ(text(b.refc_binary(std::string(70, 'x'), 0)), "#Bin<70 bytes>");
    const auto original = b.refc_binary(std::string(100, 'y'), 64);
    EXPECT_EQ(text(b.sub_binary(original, 10, 54)), "<<\"" + std::string(54, 'y') + "\">>");
    EXPECT_EQ(statistics.partial_binaries, 0U);
    EXPECT_EQ(text(b.sub_binary(original, 10, 54, 1)).substr(0, 25), "#Bin<54 bytes, first 53: ");
    EXPECT_EQ(text(b.sub_binary(original, 62, 10)), "#Bin<10 bytes, first 2: <<\"yy\">>>");
    EXPECT_EQ(text(b.sub_binary(original, 70, 10)), "#Bin<10 bytes>");
}

TEST_F(TermPrinterBinaryTest, ABinaryThatTheDumpLacksIsMarkedWithItsSize) {
    const auto word = b.refc_binary(std::string(300, 'z'));
    context.binaries.clear();
    EXPECT_EQ(text(word), "#Bin<300 bytes>");
    EXPECT_EQ(statistics.partial_binaries, 1U);
}

TEST_F(TermPrinterBinaryTest, SizesThatContradictEachOtherAreMarked) {
    const auto unreadable = [&](std::uint64_t word) {
        const auto shown = text(word);
        EXPECT_EQ(statistics.malformed, 1U) << shown;
        return shown == fmt::format("#Unreadable<{:#018x}>", pointer_of(word));
    };
    const auto heap = b.heap_binary("abc");
    EXPECT_TRUE(unreadable(b.sub_binary(heap, 1, 3))) << "ends after its original";
    EXPECT_TRUE(unreadable(b.sub_binary(heap, ~std::uint64_t{0} - 1, 3)));
    EXPECT_TRUE(unreadable(b.sub_binary(heap, 0, ~std::uint64_t{0} - 6)));
    EXPECT_TRUE(unreadable(b.sub_binary(heap, 0, 1, 9, 0)));
    EXPECT_TRUE(unreadable(b.sub_binary(heap, 0, 1, 0, 8)));
    EXPECT_TRUE(unreadable(b.sub_binary(b.sub_binary(heap, 0, 3), 0, 1)));
    EXPECT_TRUE(unreadable(b.sub_binary(TermBuilder::small(1), 0, 1)));
    EXPECT_TRUE(unreadable(b.sub_binary(b.tuple({}), 0, 0)));
    const auto refc = b.refc_binary(std::string(80, 'x'));
    b.poke(pointer_of(refc) + 8, 81);
    EXPECT_TRUE(unreadable(refc)) << "larger than its Binary";
    const auto before = b.refc_binary(std::string(80, 'x'));
    b.poke(pointer_of(before) + 32, 0x10);
    EXPECT_TRUE(unreadable(before)) << "bytes outside its Binary";
}

}  // namespace
}  // namespace beamdump::testing
