#include "fake_vm/each_layout.h"
#include "fake_vm/fake_carrier.h"

#include <libvm/beam/allocators/blocks.h>
#include <libvm/beam/allocators/carriers.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// erl_alloc_util.h: a block's header.
constexpr std::uint64_t kIsFree = 1;
constexpr std::uint64_t kAfterFree = 2;
constexpr std::uint64_t kIsLast = 4;
constexpr std::uint64_t kHasTag = std::uint64_t{1} << 63U;
constexpr std::uint64_t kCarrierSize = 5 * 16384;

class CarriersTest : public OnStandardNode {
  protected:
    std::vector<AllocatorState> states() {
        auto reader = AllocatorReader::open(fresh()).value();
        std::vector<AllocatorState> states;
        const auto places = reader.places().value();
        for (const auto& place : places) {
            if (place.number == eheap) {
                states.push_back(reader.state(place).value());
            }
        }
        return states;
    }
    Result<std::vector<CarrierPlace>> carriers() { return read_carriers(fresh(), states()); }
    std::vector<memory::Address> begins() {
        std::vector<memory::Address> begins;
        const auto found = carriers().value();
        for (const auto& place : found) {
            begins.push_back(place.range.begin);
        }
        return begins;
    }

    void put(Address address, std::uint64_t word) { node.vm.memory.put(address, word); }
    void count(Address carrier, std::uint64_t blocks, std::uint64_t bytes) {
        count_in_carrier(node.vm, carrier, blocks, bytes);
    }

    /// A carrier with these blocks, the last one up to its end.
    Address filled(const std::vector<FakeBlock>& blocks) {
        return add_carrier_with(node.vm, eheap, 1, kCarrierSize, blocks);
    }
    Result<FreeBlocks> free_blocks(std::size_t index = 0) {
        auto found = carriers().value();
        return FreeBlockReader(fresh()).read(found.at(index));
    }

    std::uint32_t eheap = static_cast<std::uint32_t>(node.vm.constant("allocator_heap"));
};

TEST_P(CarriersTest, AreFoundInListsAndPool) {
    auto& fake = node.vm;
    const auto first = fake.add_carrier(eheap, 0, 8192);
    const auto second = fake.add_carrier(eheap, 1, 16384);
    const auto pooled = fake.add_pooled_carrier(eheap, 12288);
    count(second, 3, 4096);
    EXPECT_THAT(begins(), ElementsAre(first, second, pooled));
    const auto found = carriers().value();
    EXPECT_EQ(found[0].instance, 0U);
    EXPECT_EQ(found[1].range.bytes(), 16384U);
    EXPECT_EQ(found[1].allocator, eheap);
    EXPECT_EQ(found[1].instance, 1U);
    EXPECT_EQ(found[1].blocks, 3U);
    EXPECT_EQ(found[1].block_bytes, 4096U);
    EXPECT_TRUE(found[1].mseg);
    EXPECT_FALSE(found[1].pooled);
    EXPECT_FALSE(found[1].single_block);
    EXPECT_TRUE(found[2].pooled);
}

TEST_P(CarriersTest, ACarrierOfOneBlockHasItsSizeInTheBlock) {
    auto& fake = node.vm;
    const auto place = fake.add_carrier(eheap, 1, 8192);
    auto carrier = fake.at("Carrier", place);
    carrier.set("chdr", 8192 | 2);
    put(carrier.at("cpool"), 8000 | kHasTag | 7);
    const auto found = carriers().value();
    EXPECT_TRUE(found[0].single_block);
    EXPECT_FALSE(found[0].mseg);
    EXPECT_EQ(found[0].blocks, 1U);
    EXPECT_EQ(found[0].block_bytes, 8000U);
}

TEST_P(CarriersTest, ListsThatLieAreRefused) {
    auto& fake = node.vm;
    auto carrier = fake.at("Carrier", fake.add_carrier(eheap, 1, 8192));
    carrier.set("next", carrier.address());
    EXPECT_THAT(carriers().error().message, HasSubstr("no more carriers than it counts"));
    carrier.set("next", kNowhere);
    EXPECT_EQ(carriers().error().code, ErrorCode::kUnmapped);
    carrier.set("next", 0).set("chdr", 7);
    EXPECT_THAT(carriers().error().message, HasSubstr("expected its size"));
    carrier.set("chdr", 8192).set("allctr", kNowhere);
    EXPECT_THAT(carriers().error().message, HasSubstr("as its owner"));
    carrier.set("allctr", fake.allocator(eheap, 1).address());
    EXPECT_TRUE(carriers());
    count(carrier.address(), 1, 8193);
    EXPECT_THAT(carriers().error().message, HasSubstr("expected blocks inside of it"));
    count(carrier.address(), 0, 0);
    fake.at("CarrierPoolData", fake.allocator(eheap, 1).get("cpool.sentinel"))
        .set("next", kNowhere);
    EXPECT_FALSE(carriers());
}

TEST_P(CarriersTest, FreeBlocksAreCountedBySize) {
    filled({{64, false}, {96, true}, {40000, false, kHasTag}, {32, true}, {80, false}, {0, true}});
    const auto found = free_blocks().value();
    const auto rest = kCarrierSize - kFirstBlock - 64 - 96 - 40000 - 32 - 80;
    EXPECT_EQ(found.count, 3U);
    EXPECT_EQ(found.bytes, 96 + 32 + rest);
    EXPECT_EQ(found.largest, rest);
    EXPECT_EQ(found.classes[6].count, 1U);
    EXPECT_EQ(found.classes[6].bytes, 96U);
    EXPECT_EQ(found.classes[5].bytes, 32U);
    EXPECT_EQ(found.classes[15].bytes, rest);
}

TEST_P(CarriersTest, AFullOneAndAnEmptyOneHaveTheirBlocks) {
    filled({{64, false}, {0, false}});
    EXPECT_EQ(free_blocks().value().count, 0U);
    filled({{0, true}});
    EXPECT_EQ(free_blocks(1).value().largest, kCarrierSize - kFirstBlock);
}

TEST_P(CarriersTest, BlocksThatContradictEachOtherDoNotCount) {
    const std::vector<FakeBlock> blocks = {{64, false}, {96, true}, {128, false}, {0, true}};
    const auto carrier = filled(blocks);
    const auto first = carrier + kFirstBlock;
    const auto refused = [&](Address address, std::uint64_t word) {
        const auto before = node.vm.memory.word(address).value();
        put(address, word);
        auto found = free_blocks();
        put(address, before);
        EXPECT_TRUE(free_blocks());
        return found ? std::string() : found.error().message;
    };
    EXPECT_THAT(refused(first, 8), HasSubstr("a size inside of the carrier"));
    EXPECT_THAT(refused(first, kCarrierSize), HasSubstr("a size inside of the carrier"));
    EXPECT_THAT(refused(first, 64 | kAfterFree), HasSubstr("fits the block before it"));
    EXPECT_THAT(refused(first + 64, 96 | kIsFree | kAfterFree), HasSubstr("fits the block"));
    EXPECT_THAT(refused(first + 64 + 96, 128), HasSubstr("fits the block before it"));
    EXPECT_THAT(refused(first + 64 + 8, kNowhere), HasSubstr("its carrier in a free block"));
    EXPECT_THAT(refused(first + 64 + 96 - 8, 80), HasSubstr("at the end of a free block"));
    EXPECT_THAT(refused(first, 64 | std::uint64_t{1} << 40U), HasSubstr("carrier's distance"));
    EXPECT_THAT(refused(first, 64 | kIsLast), HasSubstr("end behind its last block"));
    count(carrier, 2, 64 + 128 + 16);
    EXPECT_THAT(free_blocks().error().message, HasSubstr("that it counts"));
    count(carrier, 3, 64 + 128);
    EXPECT_THAT(free_blocks().error().message, HasSubstr("found 2 of 192"));
}

TEST_P(CarriersTest, ACarrierThatChangesMeanwhileDoesNotCount) {
    const auto carrier = filled({{64, false}, {0, true}});
    auto place = carriers().value().at(0);
    auto counters = node.vm.at("CarrierPoolData", node.vm.at("Carrier", carrier).at("cpool"));
    node.vm.memory.before_read([&](memory::AddressRange range) {
        if (range.contains(carrier + kFirstBlock + 64)) {
            counters.set("total_blocks_size", 128);
        }
    });
    const auto found = FreeBlockReader(fresh()).read(place);
    node.vm.memory.before_read({});
    EXPECT_THAT(found.error().message, HasSubstr("changed while they were read"));
    node.vm.at("Carrier", carrier).set("chdr", 8192);
    EXPECT_THAT(FreeBlockReader(fresh()).read(place).error().message, HasSubstr("found another"));
}

TEST_P(CarriersTest, FewBytesAreReadOfHeadersThatAreFarApart) {
    filled({{20000, false}, {20000, false}, {20000, false}, {0, true}});
    filled(std::vector<FakeBlock>(1000, {64, false}));
    auto found = carriers().value();
    const auto read_bytes = [&](CarrierPlace& carrier) {
        FreeBlockReader reader(*vm);
        const auto before = node.vm.memory.stats().bytes;
        EXPECT_TRUE(reader.read(carrier));
        return node.vm.memory.stats().bytes - before;
    };
    EXPECT_LT(read_bytes(found.at(0)), 8U << 10U);
    EXPECT_LT(read_bytes(found.at(1)), kCarrierSize + (4U << 10U));
}

TEST_P(CarriersTest, PagesThatAreNotInMemoryAreNotRead) {
    const auto carrier = filled({{64, false}, {40000, true}, {80, false}, {0, true}});
    // The allocators give back the inside of free blocks.
    node.vm.about.absent = {carrier + kLeastPageBytes, carrier + 9 * kLeastPageBytes};
    vm = node.vm.located();
    auto place = carriers().value().at(0);
    const auto before = node.vm.memory.touched().size();
    EXPECT_EQ(FreeBlockReader(*vm).read(place).value().largest,
              kCarrierSize - kFirstBlock - 64 - 40000 - 80);
    auto reads = node.vm.memory.touched();
    reads.erase(reads.begin(), reads.begin() + static_cast<std::ptrdiff_t>(before));
    EXPECT_FALSE(reads.empty());
    for (const auto& read : reads) {
        EXPECT_TRUE(read.end <= node.vm.about.absent->begin ||
                    read.begin >= node.vm.about.absent->end);
    }
    // A header that was swapped out.
    node.vm.about.absent->end += kLeastPageBytes;
    vm = node.vm.located();
    const auto refused = FreeBlockReader(*vm).read(place);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnmapped);
    EXPECT_THAT(refused.error().message, HasSubstr("is not in memory"));
}

BEAMDUMP_FOR_EACH_LAYOUT(CarriersTest);

}  // namespace
}  // namespace beamdump::beam
