#include "fake_vm/each_layout.h"

#include <libvm/beam/activity/persistent_terms.h>

#include <gmock/gmock.h>

#include <cstring>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PersistentTermsOfANode : public OnStandardNode {
  protected:
    FakeStruct table() {
        return node.vm.at("PersistentTerms",
                          node.vm.memory.word(node.vm.globals().persistent_terms).value());
    }
    /// {Key, [Value]} in that slot. Gives the tuple's address.
    Address put(std::size_t slot, std::int64_t key, std::int64_t value) {
        auto& literals = node.vm.literals;
        const auto area = literals.place_words({0, 0, 0, 0, 0, 0, 0});
        const auto tuple = area + 16;
        node.vm.memory.put(area + 8, tuple + std::uint64_t{5} * 8);
        node.vm.memory.put(tuple, node.vm.header(2, 0));
        node.vm.memory.put(tuple + 8, node.vm.small(key));
        node.vm.memory.put(tuple + 16, (tuple + 24) | 1U);
        node.vm.memory.put(tuple + 24, node.vm.small(value));
        node.vm.memory.put(tuple + 32, node.vm.constant("nil"));
        set_slot(slot, tuple | 2U);
        auto all = table();
        all.set("num_entries", all.get("num_entries") + 1);
        return tuple;
    }
    void set_slot(std::size_t slot, std::uint64_t word) {
        node.vm.memory.put(table().at("term") + slot * 8, word);
    }
    /// The keys that are read.
    std::vector<std::int64_t> read(Vm& found, bool moving) {
        std::vector<std::int64_t> keys;
        auto reader = PersistentTermReader::open(found).value();
        PersistentTermReader::Request request;
        request.moving = [moving] { return moving; };
        request.go_on = [] { return Result<bool>(true); };
        counts = reader
                     .read(request,
                           [&](const PersistentTermReader::Term& term,
                               const std::function<Result<bool>()>& same) {
                               std::uint64_t key = 0;
                               std::memcpy(&key, term.row.words.data() + 8, sizeof(key));
                               keys.push_back(static_cast<std::int64_t>(key) >> 4U);
                               EXPECT_EQ(term.words, 5U);
                               EXPECT_EQ(term.row.words.size(), 40U);
                               return same();
                           })
                     .value();
        return keys;
    }
    PersistentTermReader::Counts counts;
};

TEST_P(PersistentTermsOfANode, AreFoundByTheirShapeAndRead) {
    put(0, 10, 1);
    put(3, 11, 2);
    put(7, 12, 3);
    auto& found = fresh();
    EXPECT_EQ(found.tables().other.persistent_terms, node.vm.globals().persistent_terms);
    for (const bool moving : {false, true}) {
        EXPECT_THAT(read(found, moving), ElementsAre(10, 11, 12));
        EXPECT_EQ(counts.terms, 3U);
        EXPECT_EQ(counts.counted, 3U);
        EXPECT_EQ(counts.table_bytes, node.vm.bytes("PersistentTerms") + 7U * 8U);
        EXPECT_EQ(counts.changed + counts.unreadable, 0U);
        EXPECT_FALSE(counts.replaced);
    }
}

/// Which global is before it differs between compilers.
TEST_P(PersistentTermsOfANode, AreFoundBehindAGlobalThatIsAFunction) {
    put(0, 10, 1);
    const auto at = node.vm.globals().persistent_terms;
    node.vm.memory.put(at - 8, node.vm.normal_exit());
    EXPECT_EQ(fresh().tables().other.persistent_terms, at);
}

TEST_P(PersistentTermsOfANode, CountsUnreadableEntries) {
    put(1, 10, 1);
    const auto short_one = put(2, 11, 2);
    const auto no_pair = put(4, 12, 3);
    auto& found = fresh();
    node.vm.memory.put(short_one - 8, short_one + 8);  // the area's end
    node.vm.memory.put(no_pair, node.vm.header(3, 0));
    set_slot(5, node.vm.small(1));
    set_slot(6, table().address() | 2U);  // not among the literals
    for (const bool moving : {false, true}) {
        EXPECT_THAT(read(found, moving), ElementsAre(10));
        EXPECT_EQ(counts.unreadable, 4U);
        EXPECT_EQ(counts.counted, 3U);
    }
}

TEST_P(PersistentTermsOfANode, AnEmptyTableHasNone) {
    EXPECT_THAT(read(fresh(), true), IsEmpty());
    EXPECT_EQ(counts.counted, 0U);
}

TEST_P(PersistentTermsOfANode, TwoTablesAreNotGuessedFrom) {
    put(0, 10, 1);
    const auto other = node.vm.make("PersistentTerms", std::size_t{7} * 8);
    auto second = node.vm.at("PersistentTerms", other.address());
    second.set("allocated", 8).set("mask", 7);
    for (std::size_t slot = 0; slot < 8; ++slot) {
        node.vm.memory.put(second.at("term") + slot * 8, node.vm.constant("nil"));
    }
    node.vm.data.place_words({0, second.address()});
    const auto located = node.vm.located();
    auto& found = *located;
    EXPECT_FALSE(found.tables().other.persistent_terms.has_value());
    ASSERT_FALSE(found.tables().other.not_found.empty());
    EXPECT_THAT(found.tables().other.not_found.front(), HasSubstr("the_hash_table was not found"));
    EXPECT_EQ(PersistentTermReader::open(found).error().code, ErrorCode::kAbsent);
}

BEAMDUMP_FOR_EACH_LAYOUT(PersistentTermsOfANode);

}  // namespace
}  // namespace beamdump::beam
