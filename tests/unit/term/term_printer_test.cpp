#include "print_term.h"

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

class TermPrinterTest : public ::testing::Test {
  protected:
    FakeTermContext context;
    TermBuilder b{context};
};

TEST_F(TermPrinterTest, PrintsIdentifiersOfOtherNodes) {
    for (int i = 0; i < 40; ++i) {
        context.intern("filler" + std::to_string(i));
    }
    const auto other = b.node("other@host");
    const auto self = b.node("me@host", true);
    EXPECT_EQ(print(context, b.external_pid(other, 70000, 9)), "<40.70000.9>");
    EXPECT_EQ(print(context, b.external_pid(self, 1, 2)), "<0.1.2>");
    EXPECT_EQ(print(context, b.external_port(other, std::uint64_t{1} << 40U)),
              "#Port<40.1099511627776>");
    EXPECT_EQ(print(context, b.external_reference(other, {1, 2, 3})), "#Ref<40.3.2.1>");
    EXPECT_EQ(print(context, b.external_reference(other, {7})), "#Ref<40.7>");
    EXPECT_EQ(print(context, b.external_reference(self, {1, 2, 3, 4, 5})), "#Ref<0.5.4.3.2.1>");
}

TEST_F(TermPrinterTest, PrintsAllKindsOfLocalReferences) {
    EXPECT_EQ(print(context, b.reference({1, 2, 3})), "#Ref<0.3.2.1>");
    EXPECT_EQ(print(context, b.pid_reference({1, 2, 3}, TermBuilder::pid(5, 0))), "#Ref<0.3.2.1>");
    EXPECT_EQ(print(context, b.magic_reference({4, 5, 6})), "#Ref<0.6.5.4>");
}

TEST_F(TermPrinterTest, AReferenceToAResourceHasItsTypeIfTheStyleSaysSo) {
    const auto resource = b.magic_reference({4, 5, 6});
    const auto other = b.magic_reference({7, 8, 9});
    ASSERT_EQ(context.magic_references.size(), 2U);
    for (const auto& [address, numbers] : context.magic_references) {
        context.resource_types[address] = numbers[0] == 4 ? 0x1000 : 0x2000;
    }
    const auto term = b.tuple({resource, other, b.reference({1, 2, 3})});
    const ResourceTypeNames names = {{0x1000, "zlib:zlib"}};
    auto scheme = otp25_scheme();
    EXPECT_EQ(print(context, term), "{#Ref<0.6.5.4>,#Ref<0.9.8.7>,#Ref<0.3.2.1>}");
    scheme.style.resources = &names;
    TermPrinter printer(context, scheme);
    EXPECT_EQ(print_with(printer, term, 100),
              "{#Ref<0.6.5.4> (zlib:zlib),#Ref<0.9.8.7>,#Ref<0.3.2.1>}");
    TermPrinter plain(context, without_resource_types(scheme));
    EXPECT_EQ(print_with(plain, resource, 100), "#Ref<0.6.5.4>");
}

TEST_F(TermPrinterTest, PrintsMatchContextsAndRegistersOfARunningProcess) {
    EXPECT_EQ(print(context, b.match_context(b.heap_binary("abc"))), "#MatchState");
    EXPECT_EQ(print(context, 0), "<TNV>");
    EXPECT_EQ(print(context, 0x1000), "<cp/header:0x0000000000001000>");
    context.code[0x5000] = {.function = context.function("m", "F", 2),
                            .function_start = 0x5000,
                            .mfa_start = 0x5010,
                            .code_point = std::nullopt,
                            .file = std::nullopt,
                            .line = std::nullopt};
    EXPECT_EQ(print(context, 0x5060), "<m:'F'/2+7>");
}

TEST_F(TermPrinterTest, PrintsAnExportFunWhoseModuleAndFunctionShareAName) {
    EXPECT_EQ(print(context, b.export_fun("lists", "lists", 3)), "fun lists:lists/3");
}

TEST_F(TermPrinterTest, StartDropsWhatWasLeft) {
    TermPrinter printer(context, otp25_scheme());
    printer.start(b.string("a long string that is not read to its end"));
    std::string text;
    EXPECT_EQ(printer.next(5, text), 5U);
    EXPECT_FALSE(printer.done());
    EXPECT_EQ(print_with(printer, TermBuilder::small(7), 100), "7");
    EXPECT_TRUE(printer.done());
    EXPECT_EQ(printer.next(100, text), 0U);
}

TEST_F(TermPrinterTest, NeverGivesMoreThanAskedFor) {
    const auto word = b.list({b.big(std::vector<std::uint64_t>(5000, 77)), b.atom("tail")});
    TermPrinter printer(context, otp25_scheme());
    printer.start(word);
    std::string text;
    std::size_t total = 0;
    while (const auto got = printer.next(1000, text)) {
        EXPECT_LE(got, 1000U);
        total += got;
        EXPECT_EQ(text.size(), total);
    }
    EXPECT_EQ(text, print(context, word));
    EXPECT_EQ(text.substr(text.size() - 6), ",tail]");
}

TEST_F(TermPrinterTest, AMillionLevelsOfNestingPrint) {
    constexpr int kLevels = 1'000'000;
    auto word = TermBuilder::small(1);
    for (int i = 0; i < kLevels; ++i) {
        word = i % 2 == 0 ? b.tuple({word}) : b.cons(word, b.atom("t"));
    }
    const auto text = print(context, word, kNoTermLimit, 1U << 16U);
    EXPECT_EQ(text.size(), std::size_t{kLevels} / 2 * (2 + 4) + 1);
    EXPECT_EQ(text.substr(0, 4), "[{[{");
    EXPECT_EQ(text.substr(text.size() - 7), "|t]}|t]");
}

TEST_F(TermPrinterTest, ReadsSequentialWordsInBlocks) {
    std::vector<std::uint64_t> elements(100'000, TermBuilder::small(1000));
    const auto word = b.tuple(elements);
    context.word_calls = 0;
    EXPECT_EQ(print(context, word).size(), 500'001U);
    EXPECT_LT(context.word_calls, 2 * elements.size() / 100);
}

}  // namespace
}  // namespace beamdump::testing
