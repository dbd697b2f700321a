#include <libdump/base/return_if_error.h>
#include <libvm/beam/allocators/allocator_fields.h>
#include <libvm/beam/allocators/block_header.h>
#include <libvm/beam/allocators/heap_blocks.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kHeaderBytes = sizeof(std::uint64_t);

}  // namespace

Result<HeapBlocks> HeapBlocks::find(Vm& vm) {
    LayoutNames names(vm.layout());
    const CarrierFields fields(names);
    const std::array allocators = {names.constant("allocator_heap"),
                                   names.constant("allocator_temporary")};
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(auto reader, AllocatorReader::open(vm));
    ASSIGN_OR_RETURN(const auto places, reader.places());
    std::vector<AllocatorState> instances;
    for (const auto& place : places) {
        if (std::ranges::find(allocators, place.number) != allocators.end()) {
            ASSIGN_OR_RETURN(auto state, reader.state(place));
            instances.push_back(std::move(state));
        }
    }
    ASSIGN_OR_RETURN(auto carriers, read_carriers(vm, instances));
    return HeapBlocks(vm, std::move(carriers), fields.pool.offset);
}

Result<std::optional<memory::AddressRange>> HeapBlocks::block_at(Address address) {
    const auto behind = std::ranges::upper_bound(
        carriers_, address, {}, [](const CarrierPlace& place) { return place.range.begin; });
    if (behind == carriers_.begin() || address >= std::prev(behind)->range.end) {
        return std::nullopt;
    }
    const auto& carrier = *std::prev(behind);
    auto block =
        carrier.range.begin + (carrier.single_block ? single_block_offset_ : carrier.header_bytes);
    while (block < carrier.range.end) {
        ASSIGN_OR_RETURN(const auto word, vm_->memory().word(block));
        const BlockHeader header{word};
        const auto bytes = carrier.single_block ? header.single_bytes() : header.bytes();
        if (bytes < BlockHeader::kLeastBlockBytes || bytes > carrier.range.end - block) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("a carrier's block at {:#x}: expected a size inside of the "
                                    "carrier, found {:#x}",
                                    block, word));
        }
        if (address < block + bytes) {
            const bool given = carrier.single_block || !header.is_free();
            return given && address >= block + kHeaderBytes
                       ? std::optional(memory::AddressRange{block + kHeaderBytes, block + bytes})
                       : std::nullopt;
        }
        if (carrier.single_block || header.is_last()) {
            break;
        }
        block += bytes;
    }
    return std::nullopt;
}

}  // namespace beamdump::beam
