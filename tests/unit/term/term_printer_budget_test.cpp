// The VM's budget of 100,000 a term, against its own texts: oracle/budgets.erl builds the same
// terms under the same names.

#include "oracle_lines.h"
#include "print_term.h"

#include <boost/crc.hpp>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

namespace beamdump::testing {
namespace {

using Word = std::uint64_t;
using Builder = std::function<Word(TermBuilder&)>;

std::vector<Word> times(std::size_t count, Word word) {
    return std::vector<Word>(count, word);
}

Builder counted_list(std::int64_t last) {
    return [last](TermBuilder& b) {
        std::vector<Word> elements;
        for (std::int64_t i = 1; i <= last; ++i) {
            elements.push_back(TermBuilder::small(i));
        }
        return b.list(elements);
    };
}
Builder string_of(std::size_t count) {
    return [count](TermBuilder& b) { return b.string(std::string(count, 'a')); };
}
Builder binary_of(std::size_t count, char byte) {
    return [count, byte](TermBuilder& b) { return b.refc_binary(std::string(count, byte)); };
}
Builder bits_of(std::size_t count) {
    return [count](TermBuilder& b) {
        const auto original = b.refc_binary(std::string(count, '\xC8') + '\xA0');
        return b.sub_binary(original, 0, count, 0, 3);
    };
}
Builder ones_then(std::size_t count, std::function<Word(TermBuilder&)> last) {
    return [count, last = std::move(last)](TermBuilder& b) {
        const auto ones = b.list(times(count, TermBuilder::small(1)));
        return b.tuple({ones, last(b)});
    };
}
Word nested(TermBuilder& b) {
    Word term = b.atom("x");
    for (int i = 0; i < 120000; ++i) {
        term = b.tuple({term});
    }
    return term;
}
Word nested_lists(TermBuilder& b) {
    Word term = b.atom("x");
    for (int i = 0; i < 60000; ++i) {
        term = b.cons(term, TermBuilder::nil());
    }
    return term;
}
Word map_of_lists(TermBuilder& b) {
    std::vector<std::pair<Word, Word>> pairs;
    for (int key = 1; key <= 20; ++key) {
        pairs.emplace_back(TermBuilder::small(key), b.list(times(9999, TermBuilder::small(key))));
    }
    return b.flat_map(pairs);
}
Word map_fun(TermBuilder& b) {
    return b.export_fun("lists", "map", 2);
}

std::vector<std::pair<std::string, Builder>> terms() {
    return {
        {"list_99997", counted_list(99997)},
        {"list_99998", counted_list(99998)},
        {"list_99999", counted_list(99999)},
        {"list_100000", counted_list(100000)},
        {"string_99998", string_of(99998)},
        {"string_99999", string_of(99999)},
        {"string_100000", string_of(100000)},
        {"binary_99998", binary_of(99998, 'a')},
        {"binary_99999", binary_of(99999, 'a')},
        {"binary_100000", binary_of(100000, 'a')},
        {"bytes_99998", binary_of(99998, '\xC8')},
        {"bytes_99999", binary_of(99999, '\xC8')},
        {"bits_99999", bits_of(99999)},
        {"bits_99998", bits_of(99998)},
        {"atoms", [](TermBuilder& b) { return b.tuple(times(20000, b.atom("abcdefghij"))); }},
        {"quoted_atoms", [](TermBuilder& b) { return b.list(times(20000, b.atom("é b"))); }},
        {"atom_ends_it", ones_then(99984, [](auto& b) { return b.atom("abcdefghijklm"); })},
        {"atom_before_end", ones_then(99984, [](auto& b) { return b.atom("abcdefghijk"); })},
        {"export_funs", [](TermBuilder& b) { return b.list(times(20000, map_fun(b))); }},
        {"export_fun_ends_it", ones_then(99989, map_fun)},
        {"bigs", [](TermBuilder& b) { return b.list(times(100001, b.big({0, 64}))); }},
        {"strings",
         [](TermBuilder& b) { return b.list(times(200, b.string(std::string(998, 'b')))); }},
        {"improper",
         [](TermBuilder& b) {
             return b.list(times(99998, TermBuilder::small(1)), b.atom("end_"));
         }},
        {"nested", nested},
        {"nested_lists", nested_lists},
        {"map", map_of_lists},
    };
}

TEST(TermPrinterBudget, CutsTermsWhereTheVmDoes) {
    const auto lines = oracle_lines("budgets.txt");
    const auto all = terms();
    ASSERT_EQ(lines.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        FakeTermContext context;
        TermBuilder builder(context);
        const auto text = print(context, all[i].second(builder), kClassicTermLimit);
        boost::crc_32_type crc;
        crc.process_bytes(text.data(), text.size());
        const auto last = text.substr(text.size() - 12);
        EXPECT_EQ(fmt::format("{} {} {} {}", all[i].first, text.size(), crc.checksum(), last),
                  lines[i]);
    }
}

TEST(TermPrinterBudget, WithoutALimitNothingIsCut) {
    FakeTermContext context;
    TermBuilder builder(context);
    const auto text = print(context, counted_list(200000)(builder));
    EXPECT_EQ(text.size(), 1288896U);
    EXPECT_EQ(text.substr(text.size() - 8), ",200000]");
}

TEST(TermPrinterBudget, EveryBudgetEndsTheTextInItsOwnPlace) {
    FakeTermContext context;
    TermBuilder b(context);
    const auto word = b.tuple(
        {b.list({TermBuilder::small(1), TermBuilder::small(2)}), b.string("ab"), b.atom("c")});
    const std::vector<std::string> expected = {"... ",
                                               "{... ",
                                               "{[... ",
                                               "{[1,... ",
                                               "{[1,2],... ",
                                               "{[1,2],\"... ",
                                               "{[1,2],\"a... ",
                                               "{[1,2],\"ab\",... ",
                                               "{[1,2],\"ab\",c... ",
                                               "{[1,2],\"ab\",c... ",
                                               "{[1,2],\"ab\",c}",
                                               "{[1,2],\"ab\",c}"};
    for (std::size_t limit = 0; limit < expected.size(); ++limit) {
        EXPECT_EQ(print(context, word, static_cast<std::int64_t>(limit)), expected[limit]) << limit;
        EXPECT_EQ(print(context, word, static_cast<std::int64_t>(limit), 1), expected[limit]);
    }
}

}  // namespace
}  // namespace beamdump::testing
