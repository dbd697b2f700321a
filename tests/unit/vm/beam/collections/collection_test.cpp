#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"
#include "fake_vm/fake_queue.h"

#include <libvm/beam/collections/collection.h>

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

    Result<CollectionSpaces> read(std::optional<std::uint32_t> own_call = {}) {
        const auto where = view(process());
        const auto bytes = process().bytes();
        auto reader = CollectionReader::open(fresh()).value();
        return reader.read(StructView(bytes), where, own_call);
    }
    Result<records::Collection> moved(const CollectionSpaces& spaces) {
        auto moved = MovedObjects::open(*vm, spaces).value();
        for (const auto& span : spaces.from) {
            std::vector<std::byte> bytes(span.end - span.begin);
            EXPECT_TRUE(fresh().memory().read(span.begin, bytes));
            moved.look(span.begin, bytes);
        }
        records::Collection collection;
        const auto done = moved.finish(collection);
        return done ? Result<records::Collection>(collection) : std::unexpected(done.error());
    }
    records::Collection finished(const CollectionSpaces& spaces) {
        auto collection = moved(spaces);
        EXPECT_TRUE(collection) << collection.error().message;
        return collection.value_or(records::Collection());
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

TEST_P(Collections, OneOfTheProcesssOwnCodeBeginsItsStackBehindTheCall) {
    set_state({"state_gc", "state_running"});
    process().push(block_.begin | kBoxed);
    process().push(node.code.functions.back() + 8);  // to where the call returns
    EXPECT_FALSE(read());
    const auto spaces = read(1);
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->block.begin, block_.begin);
    EXPECT_EQ(spaces->stack.begin, process().structure().get("stop") + 8);
    EXPECT_EQ(read(0)->stack.begin, process().structure().get("stop"));
}

TEST_P(Collections, WhileObjectsMoveTheNewBlockIsWhereARootLeads) {
    // A pair that was copied, one that is being copied, and one that was not.
    const auto copied =
        process().build({block_.begin | kBoxed, node.vm.small(1), node.vm.small(2)});
    const auto last =
        process().build({(block_.begin + 24) | kBoxed, node.vm.small(3), node.vm.small(4)});
    const auto left = process().build({kPair, copied | kBoxed, last | kBoxed});
    put(block_.begin, kPair);
    put(block_.begin + 8, node.vm.small(1));
    put(block_.begin + 16, node.vm.small(2));
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
    const auto last =
        process().build({(block_.begin + 40) | kBoxed, node.vm.small(3), node.vm.small(4)});
    // The rest of a binary's last word leads to what was there before.
    process().build({(block_.begin + 160) | kBoxed, kPair});
    const auto copy = [&](Address at, std::uint64_t first, std::uint64_t second) {
        put(at, kPair);
        put(at + 8, node.vm.small(first));
        put(at + 16, node.vm.small(second));
    };
    copy(block_.begin, 1, 2);
    copy(block_.begin + 160, 7, 8);
    process().push(block_.begin | kBoxed);
    // While the last one's second word is not in its copy, and when it is.
    for (const auto second : {9, 3}) {
        copy(block_.begin + 40, second, 4);
        const auto collection = finished(read().value());
        ASSERT_EQ(collection.target_size(), 1);
        EXPECT_EQ(collection.target(0).end(), block_.begin + 40);
        ASSERT_EQ(collection.last_moved_size(), 1);
        EXPECT_EQ(collection.last_moved(0).copy_address(), block_.begin + 40);
        EXPECT_EQ(collection.last_moved(0).original_address(), last);
    }
}

TEST_P(Collections, MoreCopiesThanAreExaminedTogether) {
    constexpr std::uint64_t kCopies = 3;
    for (std::uint64_t i = 0; i < kCopies; ++i) {
        put(block_.begin + i * 24, kPair);
        put(block_.begin + i * 24 + 8, node.vm.small(i));
    }
    process().push(block_.begin | kBoxed);
    auto moved = MovedObjects::open(*vm, read().value()).value();
    const std::vector<std::uint64_t> words = {(block_.begin + 24) | kBoxed, node.vm.small(1), 0};
    const auto original = process().build(words);
    for (int i = 0; i < 10000; ++i) {
        moved.look(original, std::as_bytes(std::span(words)));
    }
    const auto first = process().build({block_.begin | kBoxed, node.vm.small(0), 0});
    const std::vector<std::uint64_t> others = {block_.begin | kBoxed, node.vm.small(0), 0};
    moved.look(first, std::as_bytes(std::span(others)));
    records::Collection collection;
    ASSERT_TRUE(moved.finish(collection));
    EXPECT_EQ(collection.target(0).end(), block_.begin + 24);
    EXPECT_EQ(collection.last_moved(0).original_address(), original);
}

TEST_P(Collections, CopiesThatTheSweepHasChangedFollowEachOther) {
    const auto copies = {std::pair{std::uint64_t{0}, std::uint64_t{1}}, {24, 77}, {48, 78}};
    std::uint64_t number = 0;
    for (const auto& [at, first] : copies) {
        process().build(
            {(block_.begin + at) | kBoxed, node.vm.small(1 + number++), node.vm.small(2)});
        put(block_.begin + at, kPair);
        put(block_.begin + at + 8, node.vm.small(first));
        put(block_.begin + at + 16, node.vm.small(2));
    }
    process().push(block_.begin | kBoxed);
    const auto collection = finished(read().value());
    ASSERT_EQ(collection.target_size(), 1);
    EXPECT_EQ(collection.target(0).end(), block_.begin + 48);
    EXPECT_EQ(collection.last_moved(0).copy_address(), block_.begin + 48);
}

TEST_P(Collections, RootsLeadToCopiesThatAreComplete) {
    const auto moved = process().build({block_.begin | kBoxed, 0, 0});
    const auto cell = process().build({0, (block_.begin + 24) | kList});
    const auto left = process().build({kPair, node.vm.small(1), node.vm.small(2)});
    records::Collection collection;
    auto& from = *collection.add_from();
    from.set_begin(moved);
    from.set_end(left + 24);
    auto& target = *collection.add_target();
    target.set_begin(block_.begin);
    target.set_end(block_.begin + 40);
    auto& last = *collection.add_last_moved();
    last.set_original_address(left);
    last.set_copy_address(block_.begin + 40);
    RootResolver roots(fresh(), collection);
    const auto resolved = [&](std::uint64_t word) { return roots.resolved(word).value(); };
    EXPECT_EQ(resolved(moved | kBoxed), block_.begin | kBoxed);
    EXPECT_EQ(resolved(cell | kList), (block_.begin + 24) | kList);
    EXPECT_EQ(resolved(left | kBoxed), left | kBoxed);
    EXPECT_EQ(resolved((block_.begin + 40) | kBoxed), left | kBoxed);
    EXPECT_EQ(resolved(block_.begin | kBoxed), block_.begin | kBoxed);
    EXPECT_EQ(resolved(node.vm.small(7)), node.vm.small(7));
}

TEST_P(Collections, ACopyBehindAGapIsNoMomentForACopy) {
    process().build({(block_.begin + 40) | kBoxed, (block_.begin + 160) | kBoxed});
    process().push((block_.begin + 40) | kBoxed);
    const auto collection = moved(read().value());
    ASSERT_FALSE(collection);
    EXPECT_EQ(collection.error().code, ErrorCode::kChanged);
    EXPECT_THAT(collection.error().message, HasSubstr("behind all copies"));
}

TEST_P(Collections, FragmentsOfABifAreMovedBeforeAnyRoot) {
    auto fragment =
        process().fragment({0, block_.begin | kList, node.vm.small(2), node.vm.constant("nil")});
    process().push(fragment.at("mem") | kList);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->block.begin, block_.begin);
    ASSERT_EQ(spaces->fragments.size(), 1U);
    EXPECT_EQ(spaces->fragments.front().begin, fragment.at("mem"));
    // One whose first object stays where it is.
    node.vm.memory.put(fragment.at("mem"), node.vm.small(1));
    node.vm.memory.put(fragment.at("mem") + 8, (fragment.at("mem") + 16) | kList);
    EXPECT_EQ(read().value().block.begin, 0U);
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
    const auto collection = moved(*spaces);
    ASSERT_FALSE(collection);
    EXPECT_EQ(collection.error().code, ErrorCode::kChanged);
    EXPECT_THAT(collection.error().message, HasSubstr("behind all copies"));
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

TEST_P(Collections, AHeapThatMovesAsAWholeIsNoMomentForACopy) {
    process().structure().set("hend", block_.end).set("stop", block_.end - 8);
    const auto spaces = read();
    ASSERT_FALSE(spaces);
    EXPECT_EQ(spaces.error().code, ErrorCode::kChanged);
    EXPECT_THAT(spaces.error().message, HasSubstr("its pointers have not"));
}

TEST_P(Collections, AMessageAloneMayLeadToTheNewBlock) {
    process().old_heap({kPair, node.vm.small(1), node.vm.small(2), 0, 0, 0});
    auto structure = process().structure();
    const auto top = structure.get("old_heap");
    structure.set("old_htop", top);
    process().push(top | kBoxed);
    add_message(node.vm, process(), FakeQueue::kInner, node.vm.small(1));
    add_message(node.vm, process(), FakeQueue::kInner, block_.begin | kBoxed);
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->highest_promoted, top);
    EXPECT_EQ(spaces->block.begin, block_.begin);
}

TEST_P(Collections, AFullsweepThatHasNoOldHeapIsNoMomentForACopy) {
    process().build({block_.begin | kBoxed, node.vm.small(1), node.vm.small(2)});
    process().push(block_.begin | kBoxed);
    process().structure().set("old_heap", 0);
    EXPECT_TRUE(read());
    // F_DIRTY_MAJOR_GC, F_HIBERNATED
    for (const auto flag : {1U << 19U, 1U << 21U}) {
        process().structure().set("flags", flag);
        const auto spaces = read();
        ASSERT_FALSE(spaces);
        EXPECT_THAT(spaces.error().message, HasSubstr("its old heap may have been freed"));
    }
    // Nothing tells a hibernation that has begun: a minor collection has left an old heap.
    process().structure().set("flags", 0).set("gen_gcs", 1);
    EXPECT_FALSE(read());
}

TEST_P(Collections, ALastCopyWithoutAHeaderIsNoMomentForACopy) {
    process().build({block_.begin | kBoxed, node.vm.small(1), node.vm.small(2)});
    process().push(block_.begin | kBoxed);
    const auto collection = moved(read().value());
    ASSERT_FALSE(collection);
    EXPECT_THAT(collection.error().message, HasSubstr("has no header yet"));
}

TEST_P(Collections, MessagesMayBeTheOnlyRoots) {
    process().old_heap({kPair, node.vm.small(1), node.vm.small(2), 0, 0, 0});
    auto structure = process().structure();
    const auto top = structure.get("old_heap");
    structure.set("old_htop", top);
    add_message(node.vm, process(), FakeQueue::kInner, top | kBoxed);
    auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->highest_promoted, top);
    EXPECT_EQ(spaces->block.begin, 0U);
    add_message(node.vm, process(), FakeQueue::kInner, block_.begin | kBoxed);
    spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_EQ(spaces->block.begin, block_.begin);
}

TEST_P(Collections, MessagesAreNotOnTheirWayToTheHeapWhileFragmentsAreLeft) {
    add_message(node.vm, process(), FakeQueue::kInner, node.vm.small(1));
    EXPECT_FALSE(read());
    process().fragment({kPair, node.vm.small(1), node.vm.small(2)});
    const auto spaces = read();
    ASSERT_TRUE(spaces) << spaces.error().message;
    EXPECT_FALSE(spaces->whole);
    EXPECT_EQ(spaces->block.begin, 0U);
}

TEST_P(Collections, BeforeObjectsMoveMessagesMayBeOnTheirWayToTheHeap) {
    add_message(node.vm, process(), FakeQueue::kInner, node.vm.small(1));
    const auto spaces = read();
    ASSERT_FALSE(spaces);
    EXPECT_THAT(spaces.error().message, HasSubstr("its messages may be on their way"));
    const auto flags = process().structure().get("sig_qs.flags");
    process().structure().set("sig_qs.flags", flags | node.vm.constant("message_queue_off_heap"));
    EXPECT_TRUE(read());
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
