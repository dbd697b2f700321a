#include "support/fake_term_context.h"

#include <libdump/heap/heap_scan.h>
#include <libdump/heap/largest_terms.h>

#include <gtest/gtest.h>

#include <set>

namespace beamdump::testing {
namespace {

class HeapScanTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kBase = 0x10000;

    HeapBlock block(const std::vector<std::uint64_t>& words) {
        context.add_region(kBase, words);
        return {kBase, kBase + words.size() * kWordBytes};
    }
    static std::uint64_t cell(std::uint64_t word) {
        return TermBuilder::list_at(kBase + word * kWordBytes);
    }
    static std::uint64_t box(std::uint64_t word) {
        return TermBuilder::boxed(kBase + word * kWordBytes);
    }

    std::set<std::uint64_t> live;
    FakeTermContext context;
    TermBuilder b{context};
    TagScheme scheme = *scheme_of(format::TermScheme::kOtp25);
    WordReader reader{context};
};

TEST_F(HeapScanTest, FindsTheTermsThatNothingRefersTo) {
    const auto one = TermBuilder::small(1);
    const auto all = block({
        one, TermBuilder::nil(),                           // 0: a cell, in the tuple
        TermBuilder::header(2, 0), cell(0), one,           // 2: a tuple, top-level
        one, cell(7),                                      // 5: a list of two, top-level
        one, TermBuilder::nil(),                           // 7
        TermBuilder::header(1, 6), 0x3ff0'0000'0000'0000,  // 9: a float, top-level
    });
    TopLevelTerms terms(scheme, reader, [this](std::uint64_t at) { return live.contains(at); });
    ASSERT_TRUE(terms.add(all));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    ASSERT_TRUE(terms.visit(
        all, [&](const TopLevelTerms::Term& term) { found.emplace_back(term.word, term.words); },
        [](const UnreadableStretch&) { FAIL() << "all of it can be read"; }));
    const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
        {box(2), 5}, {cell(5), 4}, {box(9), 2}};
    EXPECT_EQ(found, expected);
}

TEST_F(HeapScanTest, ADeadTermsWordsAreWhatDiesWithIt) {
    const auto one = TermBuilder::small(1);
    const auto all = block({
        one, TermBuilder::nil(),                   // 0: a cell that both tuples hold
        TermBuilder::header(2, 0), cell(0), one,   // 2: dead
        TermBuilder::header(1, 0), cell(0),        // 5: live
        TermBuilder::header(2, 0), cell(10), one,  // 7: dead, with a cell of its own
        one, TermBuilder::nil(),                   // 10
    });
    live = {kBase, kBase + 40};
    TopLevelTerms terms(scheme, reader, [this](std::uint64_t at) { return live.contains(at); });
    ASSERT_TRUE(terms.add(all));
    std::vector<std::pair<bool, std::uint64_t>> found;
    ASSERT_TRUE(terms.visit(
        all, [&](const TopLevelTerms::Term& term) { found.emplace_back(term.dead, term.words); },
        [](const UnreadableStretch&) { FAIL() << "all of it can be read"; }));
    const std::vector<std::pair<bool, std::uint64_t>> expected = {{true, 3}, {false, 4}, {true, 5}};
    EXPECT_EQ(found, expected);
}

TEST_F(HeapScanTest, NamesWordsThatMakeNoTermAndGoesOn) {
    const auto one = TermBuilder::small(1);
    const auto all = block({
        TermBuilder::header(1'000'000, 0),              // 0: a tuple beyond the block's end
        TermBuilder::header(2, 0), one, one,            // 1: a tuple
        TermBuilder::header(7, 0), TermBuilder::nil(),  // 4: another beyond the end, then half
    });                                                 //    a cell
    TopLevelTerms terms(scheme, reader, [this](std::uint64_t at) { return live.contains(at); });
    ASSERT_TRUE(terms.add(all));
    std::vector<std::uint64_t> found;
    std::vector<std::uint64_t> passed;
    ASSERT_TRUE(terms.visit(
        all, [&](const TopLevelTerms::Term& term) { found.push_back(term.address); },
        [&](const UnreadableStretch& stretch) {
            passed.push_back(stretch.address);
            passed.push_back(stretch.words);
        }));
    EXPECT_EQ(passed, (std::vector<std::uint64_t>{kBase, 1, kBase + 32, 2}));
    EXPECT_EQ(found, (std::vector<std::uint64_t>{kBase + 8}));
}

}  // namespace
}  // namespace beamdump::testing
