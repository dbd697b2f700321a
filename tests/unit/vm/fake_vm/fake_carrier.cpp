#include "fake_vm/fake_carrier.h"

namespace beamdump::test {
namespace {

/// erl_alloc_util.h: a block's header.
constexpr std::uint64_t kIsFree = 1;
constexpr std::uint64_t kAfterFree = 2;
constexpr std::uint64_t kIsLast = 4;
constexpr unsigned kDistanceShift = 40;
constexpr std::uint64_t kDistanceUnit = 16384;

}  // namespace

void count_in_carrier(FakeVm& vm, Address carrier, std::uint64_t blocks, std::uint64_t bytes) {
    auto counters = vm.at("CarrierPoolData", vm.at("Carrier", carrier).at("cpool"));
    counters.set_word("blocks", 1, blocks).set("total_blocks_size", bytes);
}

Address add_carrier_with(FakeVm& vm, std::uint32_t number, std::uint32_t index, std::uint64_t size,
                         const std::vector<FakeBlock>& blocks) {
    vm.allocator(number, index).set("mbc_header_size", kFirstBlock);
    const auto carrier = vm.add_carrier(number, index, size);
    auto at = carrier + kFirstBlock;
    std::uint64_t used = 0;
    std::uint64_t used_bytes = 0;
    bool after_free = false;
    for (const auto& block : blocks) {
        const bool last = &block == &blocks.back();
        const auto bytes = last ? carrier + size - at : block.size;
        const auto header =
            bytes | block.flags | (last ? kIsLast : 0) | (after_free ? kAfterFree : 0);
        if (block.is_free) {
            vm.memory.put(at, header | kIsFree);
            vm.memory.put(at + sizeof(header), carrier);
            vm.memory.put(at + bytes - sizeof(header), bytes);
        } else {
            const auto distance = at / kDistanceUnit - carrier / kDistanceUnit;
            vm.memory.put(at, header | distance << kDistanceShift);
            used += 1;
            used_bytes += bytes;
        }
        after_free = block.is_free;
        at += bytes;
    }
    count_in_carrier(vm, carrier, used, used_bytes);
    return carrier;
}

}  // namespace beamdump::test
