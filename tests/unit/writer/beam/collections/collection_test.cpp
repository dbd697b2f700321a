#include "beam/collections/collection.h"

#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"

#include <gmock/gmock.h>

#include <cstring>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::HasSubstr;

constexpr std::uint64_t kCarrierBytes = 5 * 16384;
constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kBoxed = 2;
constexpr std::uint64_t kList = 1;
constexpr std::uint64_t kPair = 2U << 6U;  // header of a tuple of two

/// A process that is collected on a dirty scheduler, and a carrier of eheap_alloc with a block for
/// its new heap.
class Collections : public OnStandardNode {
  protected:
    Collections() {
        const auto eheap = static_cast<std::uint32_t>(node.vm.constant("allocator_heap"));
        const auto carrier =
            add_carrier_with(node.vm, eheap, 1, kCarrierBytes, {{kBlockBytes}, {kBlockBytes}, {0}});
        block_ = {carrier + kFirstBlock + kBlockBytes + 8, carrier + kFirstBlock + 2 * kBlockBytes};
        set_state({"state_gc", "state_dirty_running_sys"});
    }

    void set_state(std::initializer_list<const char*> names) {
        std::uint64_t bits = 0;
        for (const auto* name : names) {
            bits |= node.vm.constant(name);
        }
        process().structure().set("state", bits);
    }
    FakeProcess& process() { return node.init; }
    void put(Address address, std::uint64_t word) { node.vm.memory.put(address, word); }

    Result<CollectionSpaces> read() {
        const auto where = view(process());
        const auto bytes = process().bytes();
        auto reader = CollectionReader::open(fresh()).value();
        return reader.read(StructView(bytes), where);
    }
    records::Collection finished(const CollectionSpaces& spaces) {
        MovedObjects moved(spaces);
        for (const auto& span : spaces.from) {
            std::vector<std::byte> bytes(span.end - span.begin);
            EXPECT_TRUE(fresh().memory().read(span.begin, bytes));
            moved.look(span.begin, bytes);
        }
        records::Collection collection;
        const auto done = moved.finish(*vm, collection);
        EXPECT_TRUE(done) << done.error().message;
        return collection;
    }

    memory::AddressRange block_;
};

TEST_P(Collections, BlocksInUseAreFoundByAnyOfTheirAddresses) {
    auto blocks = HeapBlocks::find(fresh()).value();
    for (const auto address : {block_.begin, block_.begin + 800, block_.end - 8}) {
        const auto found = blocks.block_at(address).value();
        ASSERT_TRUE(found);
        EXPECT_EQ(found->begin, block_.begin);
        EXPECT_EQ(found->end, block_.end);
    }
    EXPECT_FALSE(blocks.block_at(process().structure().get("heap")).value());
}

TEST_P(Collections, WhileObjectsMoveTheNewBlockIsWhereARootLeads) {
    // A pair that was copied, one that is being copied, and one that was not.
    const auto copied =
        process().build({block_.begin | kBoxed, node.vm.small(1), node.vm.small(2)});
    const auto last =
        process().build({(block_.begin + 24) | kBoxed, node.vm.small(3), node.vm.small(4)});
    const auto left = process().build({kPair, copied | kBoxed, last | kBoxed});
    put(block_.begin, kPair);
    put(block_.begin + 24, kPair);
    process().push(block_.begin | kBoxed);
    process().push(left | kBoxed);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_FALSE(spaces->whole);
    EXPECT_EQ(spaces->block.begin, block_.begin);
    EXPECT_EQ(spaces->highest_in_block, block_.begin);
    EXPECT_EQ(spaces->stack.begin, process().structure().get("stop"));
    const auto collection = finished(*spaces);
    ASSERT_EQ(collection.target_size(), 1);
    EXPECT_EQ(collection.target(0).begin(), block_.begin);
    EXPECT_EQ(collection.target(0).end(), block_.begin + 24);
    ASSERT_EQ(collection.last_moved_size(), 1);
    EXPECT_EQ(collection.last_moved(0).original_address(), last);
    EXPECT_EQ(collection.last_moved(0).copy_address(), block_.begin + 24);
    EXPECT_EQ(collection.last_moved(0).header_word(), kPair);
}

TEST_P(Collections, ACellThatWasCopiedLastIsComplete) {
    process().build({0, block_.begin | kList});
    process().push(block_.begin | kList);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    const auto collection = finished(*spaces);
    ASSERT_EQ(collection.target_size(), 1);
    EXPECT_EQ(collection.target(0).end(), block_.begin + 16);
    EXPECT_EQ(collection.last_moved_size(), 0);
}

TEST_P(Collections, AWordOfDataThatLooksLikeACopyIsNone) {
    process().build({block_.begin | kBoxed, node.vm.small(1), node.vm.small(2)});
    process().build({0, (block_.begin + 24) | kList});
    process().build({(block_.begin + 40) | kBoxed, node.vm.small(3), node.vm.small(4)});
    // Between the last copy and this one is a gap.
    process().build({(block_.begin + 160) | kBoxed});
    put(block_.begin, kPair);
    put(block_.begin + 40, kPair);
    process().push(block_.begin | kBoxed);
    const auto collection = finished(read().value());
    ASSERT_EQ(collection.target_size(), 1);
    EXPECT_EQ(collection.target(0).end(), block_.begin + 40);
    ASSERT_EQ(collection.last_moved_size(), 1);
    EXPECT_EQ(collection.last_moved(0).copy_address(), block_.begin + 40);
}

TEST_P(Collections, CopiesOfWhichNoneFollowsAnotherAreNoMomentForACopy) {
    process().build({(block_.begin + 40) | kBoxed, (block_.begin + 160) | kBoxed});
    process().push((block_.begin + 40) | kBoxed);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    MovedObjects moved(*spaces);
    std::vector<std::byte> bytes(spaces->from.front().end - spaces->from.front().begin);
    ASSERT_TRUE(fresh().memory().read(spaces->from.front().begin, bytes));
    moved.look(spaces->from.front().begin, bytes);
    records::Collection collection;
    const auto done = moved.finish(*vm, collection);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kChanged);
    EXPECT_THAT(done.error().message, HasSubstr("no copy that was met follows another"));
}

TEST_P(Collections, BeforeAnythingMovedThereIsNoTarget) {
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->block.begin, 0U);
    EXPECT_FALSE(spaces->whole);
    EXPECT_EQ(finished(*spaces).target_size(), 0);
}

TEST_P(Collections, ARootBehindAllCopiesIsNoMomentForACopy) {
    process().push((block_.begin + 80) | kBoxed);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    records::Collection collection;
    const auto done = MovedObjects(*spaces).finish(*vm, collection);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kChanged);
    EXPECT_THAT(done.error().message, HasSubstr("behind all copies"));
}

TEST_P(Collections, ARootThatLeadsToNoBlockIsNoMomentForACopy) {
    process().push(0x7777770 | kBoxed);
    const auto spaces = read();
    ASSERT_FALSE(spaces);
    EXPECT_EQ(spaces.error().code, ErrorCode::kChanged);
    EXPECT_THAT(spaces.error().message, HasSubstr("leads to 0x7777770"));
}

TEST_P(Collections, AfterTheSweepTheMarkIsTheTopOfTheNewHeap) {
    process().structure().set("high_water", block_.begin + 160);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_TRUE(spaces->whole);
    EXPECT_EQ(spaces->block.begin, block_.begin);
    EXPECT_EQ(spaces->block.end, block_.begin + 160);
    EXPECT_EQ(spaces->stack.begin, process().structure().get("stop"));
}

TEST_P(Collections, AMovedStackEndsWithTheReturnAddressOfItsFirstFrame) {
    const auto& points = vm->tables().code_points;
    ASSERT_FALSE(points.empty());
    const auto end = block_.end - 64;  // sizes are rounded up
    put(end - 8, points.front().address);
    process().structure().set("stop", end - 24);
    process().structure().set("high_water", block_.begin + 160);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_TRUE(spaces->whole);
    EXPECT_EQ(spaces->block.end, block_.begin + 160);
    EXPECT_EQ(spaces->stack.begin, end - 24);
    EXPECT_EQ(spaces->stack.end, end);
}

TEST_P(Collections, OnANormalSchedulerItsOwnRootsAreNotKnown) {
    set_state({"state_gc", "state_running"});
    const auto spaces = read();
    ASSERT_FALSE(spaces);
    EXPECT_EQ(spaces.error().code, ErrorCode::kChanged);
    EXPECT_THAT(spaces.error().message, HasSubstr("arguments"));
}

BEAMDUMP_FOR_EACH_LAYOUT(Collections);

}  // namespace
}  // namespace beamdump::beam
