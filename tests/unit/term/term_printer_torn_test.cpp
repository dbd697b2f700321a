// Heaps that no process at rest has: every text ends, and what is wrong is marked and counted.

#include "print_term.h"

#include <gtest/gtest.h>

#include <random>

namespace beamdump::testing {
namespace {

constexpr std::uint64_t kNowhere = 0x1234'5678'9000;

class TornTermTest : public ::testing::Test {
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

TEST_F(TornTermTest, ForeignAddressesAreMarked) {
    EXPECT_EQ(text(b.tuple({kNowhere + 1, kNowhere + 2, TermBuilder::small(3)})),
              "{#Unreadable<0x0000123456789000>,#Unreadable<0x0000123456789000>,3}");
    EXPECT_EQ(statistics.malformed, 2U);
    EXPECT_EQ(text(b.cons(TermBuilder::small(1), kNowhere + 1)),
              "[1|#Unreadable<0x0000123456789000>]");
    EXPECT_EQ(text(kNowhere + 4 + 2), "#Unreadable<0x0000123456789004>") << "not aligned";
    EXPECT_EQ(text(~std::uint64_t{0} - 2), "#Unreadable<0xfffffffffffffffc>");
}

TEST_F(TornTermTest, WordsThatAreNoTermsAreMarked) {
    EXPECT_EQ(text(b.tuple({0, TermBuilder::header(2, 0), TermBuilder::catch_word(1), 0x2B})),
              "{#Unreadable<0x0000000000000000>,#Unreadable<0x0000000000000080>,"
              "#Unreadable<0x000000000000005b>,#Unreadable<0x000000000000002b>}");
    EXPECT_EQ(statistics.malformed, 4U);
    const auto address = b.put({TermBuilder::small(1), TermBuilder::header(0, 11)});
    EXPECT_EQ(text(TermBuilder::boxed(address)), fmt::format("#Unreadable<{:#018x}>", address));
    EXPECT_EQ(text(TermBuilder::boxed(address + 8)),
              fmt::format("#Unreadable<{:#018x}>", address + 8));
}

TEST_F(TornTermTest, AbsentWordsAreMarkedApart) {
    const auto word = b.list({TermBuilder::small(1), TermBuilder::small(2)});
    context.absent_begin = pointer_of(word);
    context.absent_end = pointer_of(word) + 16;
    EXPECT_EQ(text(word), fmt::format("#Absent<{:#018x}>", pointer_of(word)));
    EXPECT_EQ(statistics.absent, 1U);
    EXPECT_EQ(statistics.malformed, 0U);
}

TEST_F(TornTermTest, ATupleThatRunsOutOfItsRegionHasOneMark) {
    const auto address = b.put({TermBuilder::header(1U << 20U, 0), TermBuilder::small(1)});
    EXPECT_EQ(text(TermBuilder::boxed(address)),
              fmt::format("{{1,#Unreadable<{:#018x}>}}", address + 16));
    EXPECT_EQ(statistics.malformed, 1U);
}

TEST_F(TornTermTest, ArityBeyondTheVmsLimitIsMarked) {
    const auto tuple = b.put({TermBuilder::header(1U << 24U, 0), TermBuilder::small(1)});
    EXPECT_EQ(text(TermBuilder::boxed(tuple)), fmt::format("#Unreadable<{:#018x}>", tuple));
    const auto big = b.put({TermBuilder::header(1U << 19U, 2), 1});
    EXPECT_EQ(text(TermBuilder::boxed(big)), fmt::format("#Unreadable<{:#018x}>", big));
    const auto map = b.put({TermBuilder::header(0, 15), 33, b.tuple({})});
    EXPECT_EQ(text(TermBuilder::boxed(map)), fmt::format("#Unreadable<{:#018x}>", map));
}

TEST_F(TornTermTest, AMapWhoseKeysDoNotMatchIsMarked) {
    const auto keys = b.tuple({b.atom("a"), b.atom("b")});
    const auto map = b.put({TermBuilder::header(0, 15), 1, keys, TermBuilder::small(1)});
    EXPECT_EQ(text(TermBuilder::boxed(map)), fmt::format("#Unreadable<{:#018x}>", map));
}

TEST_F(TornTermTest, MarksAtomsThatTheTablesLack) {
    const auto fun = b.local_fun("m", 1, 2);
    const auto external = b.external_pid(b.node("gone@host"), 1, 2);
    const auto magic = b.magic_reference({1, 2, 3});
    const auto exported = b.export_fun("m", "f", 1);
    context.funs.clear();
    context.nodes.clear();
    context.magic_references.clear();
    context.exports.clear();
    EXPECT_EQ(text(fun).substr(0, 8), "#Absent<");
    EXPECT_EQ(text(magic).substr(0, 8), "#Absent<");
    EXPECT_EQ(text(exported).substr(0, 8), "#Absent<");
    EXPECT_EQ(text(external), "<?.1.2>");
    EXPECT_EQ(statistics.absent, 1U);
    EXPECT_EQ(text(std::uint64_t{70'000} << 6U | 0xBU), "<bad atom index: 70000>");
    EXPECT_EQ(statistics.absent, 1U);
}

TEST_F(TornTermTest, CyclicListsEnd) {
    for (const int before : {0, 1, 5}) {
        for (const int around : {1, 2, 3, 7, 100}) {
            const auto last = b.put({b.atom("x"), 0});
            auto head = TermBuilder::list_at(last);
            for (int i = 1; i < around; ++i) {
                head = b.cons(b.atom("x"), head);
            }
            b.poke(last + 8, head);
            for (int i = 0; i < before; ++i) {
                head = b.cons(b.atom("y"), head);
            }
            const auto shown = text(head);
            EXPECT_NE(shown.find("|#Cycle<0x"), std::string::npos) << shown;
            EXPECT_LT(shown.size(), 60U + 2U * 3U * static_cast<unsigned>(before + around));
            EXPECT_EQ(statistics.malformed, 1U);
        }
    }
}

TEST_F(TornTermTest, ACyclicListOfCharactersEnds) {
    const auto last = b.put({TermBuilder::small('c'), 0});
    const auto head =
        b.list({TermBuilder::small('a'), TermBuilder::small('b')}, TermBuilder::list_at(last));
    b.poke(last + 8, head);
    EXPECT_NE(text(head).find("|#Cycle<0x"), std::string::npos);
}

TEST_F(TornTermTest, ATermInsideItselfEnds) {
    const auto self = b.put({TermBuilder::header(2, 0), 0, 0});
    b.poke(self + 8, TermBuilder::boxed(self));
    b.poke(self + 16, TermBuilder::boxed(self));
    const auto shown = text(TermBuilder::boxed(self));
    EXPECT_NE(shown.find("#Cycle<0x"), std::string::npos) << shown;
    EXPECT_LT(shown.size(), 60U);
    EXPECT_EQ(shown.substr(shown.size() - 5), ">... ");

    // Around through a list, a map and a tuple.
    const auto cell = b.put({0, TermBuilder::nil()});
    const auto map = b.flat_map({{b.atom("key"), TermBuilder::list_at(cell)}});
    b.poke(cell, b.tuple({TermBuilder::small(1), map}));
    const auto around = text(map);
    EXPECT_NE(around.find("#Cycle<0x"), std::string::npos) << around;
    EXPECT_LT(around.size(), 200U);
}

TEST_F(TornTermTest, ALongCycleThroughNestingEnds) {
    const auto bottom = b.put({TermBuilder::header(1, 0), 0});
    auto word = TermBuilder::boxed(bottom);
    for (int i = 0; i < 5000; ++i) {
        word = b.tuple({word});
    }
    b.poke(bottom + 8, word);
    const auto shown = text(word);
    EXPECT_NE(shown.find("#Cycle<0x"), std::string::npos);
    EXPECT_LT(shown.size(), 20'000U);
}

TEST_F(TornTermTest, RandomWordsEnd) {
    std::mt19937_64 random(25);
    for (int round = 0; round < 3000; ++round) {
        FakeTermContext torn;
        std::vector<std::uint64_t> words(64);
        for (auto& word : words) {
            const std::uint64_t low = random() % 64;
            const std::uint64_t pointer = TermBuilder::kHeap + random() % 64 * 8;
            switch (random() % 4) {
                case 0:
                    word = pointer + 1;
                    break;
                case 1:
                    word = pointer + 2;
                    break;
                case 2:
                    word = random() % 6 << 6U | (low & ~std::uint64_t{3});
                    break;
                default:
                    word = random() % 256 << 6U | low;
            }
        }
        torn.add_region(TermBuilder::kHeap, words);
        constexpr std::array kSchemes = {format::TermScheme::kOtp25, format::TermScheme::kOtp27,
                                         format::TermScheme::kOtp29};
        TermPrinter printer(torn, *scheme_of(kSchemes.at(round % kSchemes.size())), 2000);
        for (const auto word : words) {
            printer.start(word);
            std::string shown;
            while (printer.next(100, shown) != 0) {
                ASSERT_LT(shown.size(), 1'000'000U);
            }
            EXPECT_TRUE(printer.done());
        }
    }
}

}  // namespace
}  // namespace beamdump::testing
