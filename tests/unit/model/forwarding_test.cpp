#include "support/fake_term_context.h"

#include <libdump/model/forwarding.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::testing {
namespace {

constexpr std::uint64_t kFrom = 0x10000;
constexpr std::uint64_t kTarget = 0x20000;
constexpr std::uint64_t kList = 1;
constexpr std::uint64_t kBoxed = 2;
constexpr std::uint64_t kNil = 0x3b;
constexpr std::uint64_t kPair = 2U << 6U;  // header of a tuple of two

constexpr std::uint64_t small(std::uint64_t value) {
    return value << 4U | 0xfU;
}

/// A heap in the middle of a collection: at kFrom a copied tuple, a copied cell, a tuple that was
/// not copied, the tuple copied last, and a stack of roots. At kTarget the copies.
class ForwardingTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kTuple = kFrom;
    static constexpr std::uint64_t kCell = kFrom + 24;
    static constexpr std::uint64_t kLeft = kFrom + 40;
    static constexpr std::uint64_t kLast = kFrom + 64;
    static constexpr std::uint64_t kTupleCopy = kTarget;
    static constexpr std::uint64_t kCellCopy = kTarget + 24;
    static constexpr std::uint64_t kLastCopy = kTarget + 40;
    static constexpr std::uint64_t kStack = 0x30000;

    ForwardingTest() : forwarding_(collection()) {
        context_.add_region(kFrom, {kTupleCopy | kBoxed, small(1), kCell | kList,   // copied
                                    0, kCellCopy | kList,                           // copied
                                    kPair, kTuple | kBoxed, kLast | kBoxed,         // not copied
                                    kLastCopy | kBoxed, small(4), kCell | kList});  // being copied
        context_.add_region(kTarget, {kPair, small(1), kCellCopy | kList,           // already swept
                                      kLeft | kBoxed, kNil});                       // not yet
        context_.add_region(kStack, {kTuple | kBoxed, kTupleCopy | kBoxed, kCell | kList,
                                     kLastCopy | kBoxed, kLeft | kBoxed, small(7), 0x401000});
    }

    static records::Collection collection() {
        records::Collection made;
        auto& from = *made.add_from();
        from.set_begin(kFrom);
        from.set_end(kFrom + 11 * 8);
        auto& target = *made.add_target();
        target.set_begin(kTarget);
        target.set_end(kLastCopy);
        auto& last = *made.add_last_moved();
        last.set_original_address(kLast);
        last.set_copy_address(kLastCopy);
        last.set_header_word(kPair);
        return made;
    }
    template <std::size_t count>
    std::array<std::uint64_t, count> shown(std::uint64_t address) {
        std::array<std::uint64_t, count> words{};
        EXPECT_TRUE(context_.words(address, words));
        EXPECT_TRUE(forwarding_.read(context_));
        forwarding_.show(address, words);
        return words;
    }

    FakeTermContext context_;
    Forwarding forwarding_;
};

TEST_F(ForwardingTest, RootsLeadToTheOnePlaceOfEachObject) {
    const std::array<std::uint64_t, 7> expected = {kTupleCopy | kBoxed,
                                                   kTupleCopy | kBoxed,
                                                   kCellCopy | kList,
                                                   kLast | kBoxed,
                                                   kLeft | kBoxed,
                                                   small(7),
                                                   0x401000};
    EXPECT_EQ(shown<7>(kStack), expected);
}

TEST_F(ForwardingTest, CopiesLeadToCopiesWhetherSweptOrNot) {
    EXPECT_EQ(shown<3>(kTupleCopy),
              (std::array<std::uint64_t, 3>{kPair, small(1), kCellCopy | kList}));
    EXPECT_EQ(shown<2>(kCellCopy), (std::array<std::uint64_t, 2>{kLeft | kBoxed, kNil}));
}

TEST_F(ForwardingTest, AnObjectThatWasNotCopiedIsWhereItWas) {
    EXPECT_EQ(shown<3>(kLeft),
              (std::array<std::uint64_t, 3>{kPair, kTupleCopy | kBoxed, kLast | kBoxed}));
}

TEST_F(ForwardingTest, TheLastObjectIsReadFromItsOriginal) {
    EXPECT_EQ(shown<3>(kLast), (std::array<std::uint64_t, 3>{kPair, small(4), kCellCopy | kList}));
}

TEST_F(ForwardingTest, ACellWithoutFirstWordWhoseTailLeadsToNoCopyIsNotCopied) {
    context_.regions[kFrom][3] = 0;
    context_.regions[kFrom][4] = kLeft | kList;
    EXPECT_TRUE(forwarding_.read(context_));
    EXPECT_EQ(forwarding_.resolved(kCell | kList), kCell | kList);
    EXPECT_EQ(shown<2>(kCell), (std::array<std::uint64_t, 2>{0, kLeft | kList}));
}

TEST_F(ForwardingTest, PointersToLiteralsAndElsewhereStay) {
    EXPECT_TRUE(forwarding_.read(context_));
    EXPECT_EQ(forwarding_.resolved(kTuple | kBoxed | 4U), kTuple | kBoxed | 4U);
    EXPECT_EQ(forwarding_.resolved(0x99990 | kBoxed), 0x99990 | kBoxed);
}

}  // namespace
}  // namespace beamdump::testing
