#include "support/fake_term_context.h"

#include <libdump/term/atom_text.h>

#include <gtest/gtest.h>

namespace beamdump::testing {
namespace {

TEST(AtomText, QuotesWhatTheVmQuotes) {
    EXPECT_EQ(quoted_atom("abc"), "abc");
    EXPECT_EQ(quoted_atom(""), "''");
    EXPECT_EQ(quoted_atom("nonode@nohost"), "'nonode@nohost'");
    EXPECT_EQ(quoted_atom("_a"), "'_a'");
    EXPECT_EQ(quoted_atom("é"), "é");
    EXPECT_EQ(quoted_atom("÷"), "'÷'");
    EXPECT_EQ(quoted_atom("\xC2\x85"), "'\\205'");
}

TEST(AtomText, SurvivesBytesThatAreNoUtf8) {
    EXPECT_EQ(quoted_atom("a\xC2"), "'a\xC2'");
    EXPECT_EQ(quoted_atom("a\xF0"), "'a\xF0'");
    EXPECT_EQ(quoted_atom("\xC3"), "'\xC3'");
    EXPECT_EQ(quoted_atom(std::string_view("a\0b", 3)), "'a\\000b'");
}

TEST(AtomTexts, KeepsAtomsApartThatShareASlot) {
    FakeTermContext context;
    for (int i = 0; i < 3000; ++i) {
        context.intern("a" + std::to_string(i));
    }
    AtomTexts atoms(context);
    for (const std::uint64_t index : {5U, 1029U, 5U, 2053U}) {
        EXPECT_EQ(atoms.at(index).quoted, "a" + std::to_string(index));
    }
    EXPECT_FALSE(atoms.at(3000).known);
    EXPECT_EQ(atoms.at(3000).quoted, "<bad atom index: 3000>");
    EXPECT_FALSE(atoms.at(std::uint64_t{1} << 57U).known);
}

TEST(AtomText, UnquotedIsTheNameAgain) {
    for (const std::string name :
         {"abc", "", "it's", "a\\b", "\n\t\x01z", "Ärger", "\xC2\x85", "日本", "a b", "\x7F"}) {
        EXPECT_EQ(unquoted_atom(quoted_atom(name)), name);
    }
    EXPECT_EQ(unquoted_atom("'"), "'");
    EXPECT_EQ(unquoted_atom("'\\'"), "\\");
}

}  // namespace
}  // namespace beamdump::testing
