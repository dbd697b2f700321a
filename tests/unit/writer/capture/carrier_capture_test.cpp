#include "capture/node/memory_capture.h"
#include "captured.h"
#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"

#include <gmock/gmock.h>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kCarrierBytes = 65536;

class CarrierCaptureTest : public EachLayout {
  protected:
    Address add_carrier(const std::vector<FakeBlock>& blocks) {
        return add_carrier_with(node.vm, eheap, 1, kCarrierBytes, blocks);
    }
    /// What a capture of the node has; of the allocator's carriers, by address.
    void capture(records::MemorySourceKind source = records::MEMORY_SOURCE_CORE) {
        FakeCapture capture(node.vm);
        ASSERT_TRUE(capture.begin());
        auto& session = capture.session();
        ASSERT_TRUE(session.node_facts(source, Session::never));
        ASSERT_TRUE(session.finish());
        Captured dump(capture.content());
        carriers.clear();
        for (const auto& page : dump.all<records::Carriers>(format::RecordKind::kCarriers)) {
            carriers.insert(carriers.end(), page.carrier().begin(), page.carrier().end());
        }
        EXPECT_EQ(dump.reader().trailer().carriers_offset_size(), carriers.empty() ? 0 : 1);
        const auto system =
            dump.all<records::SystemMemory>(format::RecordKind::kSystemMemory).at(0);
        free_blocks.clear();
        free_blocks.insert(free_blocks.end(), system.free_blocks().begin(),
                           system.free_blocks().end());
    }

    StandardNode node{layout};
    std::uint32_t eheap = static_cast<std::uint32_t>(node.vm.constant("allocator_heap"));
    std::vector<records::Carrier> carriers;
    std::vector<records::FreeBlocks> free_blocks;
};

TEST_P(CarrierCaptureTest, WritesCarriersAndTheirFreeBlocks) {
    const auto walked = add_carrier({{64, false}, {96, true}, {128, false}, {0, true}});
    const auto broken = add_carrier({{64, false}, {0, true}});
    node.vm.memory.put(broken + kFirstBlock, std::uint64_t{8});
    capture();
    ASSERT_EQ(carriers.size(), 2U);
    EXPECT_EQ(carriers[0].allocator(), eheap);
    EXPECT_EQ(carriers[0].instance(), 1U);
    EXPECT_EQ(carriers[0].address(), walked);
    EXPECT_EQ(carriers[0].bytes(), kCarrierBytes);
    EXPECT_EQ(carriers[0].blocks(), 2U);
    EXPECT_EQ(carriers[0].block_bytes(), 64U + 128U);
    EXPECT_EQ(carriers[0].free_blocks(), 2U);
    const auto largest = kCarrierBytes - kFirstBlock - 64 - 96 - 128;
    EXPECT_EQ(carriers[0].largest_free_bytes(), largest);
    EXPECT_EQ(carriers[1].address(), broken);
    EXPECT_EQ(carriers[1].blocks(), 1U);
    EXPECT_FALSE(carriers[1].has_free_blocks());
    EXPECT_FALSE(carriers[1].has_largest_free_bytes());

    ASSERT_EQ(free_blocks.size(), 1U);
    const auto& found = free_blocks[0];
    EXPECT_EQ(found.carriers(), 2U);
    EXPECT_EQ(found.carrier_bytes(), 2 * kCarrierBytes);
    EXPECT_EQ(found.read_carriers(), 1U);
    EXPECT_EQ(found.read_carrier_bytes(), kCarrierBytes);
    EXPECT_EQ(found.changed_carriers(), 1U);
    EXPECT_EQ(found.unreadable_carriers(), 0U);
    EXPECT_EQ(found.largest_bytes(), largest);
    ASSERT_EQ(found.sizes_size(), 2);
    EXPECT_EQ(found.sizes(0).from_bytes(), 64U);
    EXPECT_EQ(found.sizes(0).bytes(), 96U);
    EXPECT_EQ(found.sizes(1).from_bytes(), 32768U);
    EXPECT_EQ(found.sizes(1).count(), 1U);
}

TEST_P(CarrierCaptureTest, ReadsFreeBlocksUpToALimit) {
    constexpr std::uint64_t kSmall = 4;
    constexpr auto kHeader = beam::FreeBlockReader::kBytesOfAFarHeader;
    for (std::uint64_t count = 0; count < kSmall; ++count) {
        add_carrier({{64, false}, {0, true}});
    }
    // Says that it has many blocks; there are none.
    const auto large = node.vm.add_carrier(eheap, 1, kCarrierBytes);
    const auto set_bytes_to_copy = [&](std::uint64_t of_all) {
        const auto blocks = of_all / kHeader - 2 * kSmall - 1;
        node.vm.at("Carrier", large).set("chdr", 2 * of_all);
        count_in_carrier(node.vm, large, blocks, 64 * blocks);
    };
    const auto read = [this] {
        std::vector<bool> is_read;
        for (const auto& carrier : carriers) {
            is_read.push_back(carrier.has_free_blocks());
        }
        return is_read;
    };
    set_bytes_to_copy(2 * kFreeBlockBytes);
    capture();
    EXPECT_THAT(read(), ElementsAre(false, true, false, true, false));
    EXPECT_EQ(free_blocks.at(0).carriers(), kSmall + 1);
    EXPECT_EQ(free_blocks.at(0).read_carriers(), 2U);
    EXPECT_EQ(free_blocks.at(0).changed_carriers(), 0U);
    set_bytes_to_copy(4 * kFreeBlockBytesInAStop);
    capture();
    EXPECT_THAT(read(), ElementsAre(true, true, true, true, false));
    EXPECT_EQ(free_blocks.at(0).changed_carriers(), 1U);
    capture(records::MEMORY_SOURCE_STOPPED);
    EXPECT_THAT(read(), ElementsAre(false, false, false, true, false));
}

TEST_P(CarrierCaptureTest, AnAllocatorWhoseCarriersAreNotFoundHasNone) {
    add_carrier({{64, false}, {0, true}});
    node.vm.at("Carrier", add_carrier({{0, true}})).set("next", kNowhere);
    capture();
    EXPECT_THAT(carriers, IsEmpty());
    EXPECT_THAT(free_blocks, IsEmpty());
}

BEAMDUMP_FOR_EACH_LAYOUT(CarrierCaptureTest);

}  // namespace
}  // namespace beamdump::capture
