#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/allocators/block_header.h>
#include <libvm/beam/allocators/blocks.h>
#include <libvm/beam/layout/runtime_names.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace beamdump::beam {
namespace {

constexpr std::size_t kWindowBytes = 64U << 10U;

std::unexpected<Error> contradiction(Address block, std::string_view what, std::uint64_t found) {
    return fail(
        ErrorCode::kImplausible,
        fmt::format("a carrier's block at {:#x}: expected {}, found {:#x}", block, what, found));
}

constexpr std::uint64_t kHeaderBytes = sizeof(std::uint64_t);

}  // namespace

void FreeBlocks::add(std::uint64_t size) {
    const auto index = std::min(static_cast<std::size_t>(std::bit_width(size)) - 1, kClasses - 1);
    classes.at(index).count += 1;
    classes.at(index).bytes += size;
    count += 1;
    bytes += size;
    largest = std::max(largest, size);
}

void FreeBlocks::add(const FreeBlocks& other) {
    for (std::size_t index = 0; index < kClasses; ++index) {
        classes.at(index).count += other.classes.at(index).count;
        classes.at(index).bytes += other.classes.at(index).bytes;
    }
    count += other.count;
    bytes += other.bytes;
    largest = std::max(largest, other.largest);
}

FreeBlockReader::FreeBlockReader(Vm& vm) : vm_(vm), window_(kWindowBytes) {}

/// Copies what is behind the address, unless it is there; false: less than `least` bytes are in
/// memory.
Result<bool> FreeBlockReader::copy(Address address, std::size_t least) {
    if (address >= copied_.begin && address + least <= copied_.end) {
        return true;
    }
    const auto behind =
        std::ranges::upper_bound(present_, address, {}, &memory::AddressRange::begin);
    const auto part = behind == present_.begin() ? present_.end() : std::prev(behind);
    if (part == present_.end() || address + least > part->end) {
        return false;
    }
    const bool is_near = address >= copied_.begin && address <= copied_.end + copied_.bytes();
    window_bytes_ = is_near ? std::min(2 * window_bytes_, kWindowBytes) : kBytesOfAFarHeader;
    const auto wanted = std::min<std::uint64_t>(part->end - address, window_bytes_);
    ASSIGN_OR_RETURN(const auto got,
                     vm_.bulk().read_some(address, std::span(window_).first(wanted)));
    copied_ = {address, address + got};
    return got >= least;
}

/// A word of the carrier; those that are asked for ascend.
Result<std::uint64_t> FreeBlockReader::word(Address address) {
    ASSIGN_OR_RETURN(const bool copied, copy(address, kWordBytes));
    if (!copied) {
        return fail(ErrorCode::kUnmapped,
                    fmt::format("the carrier's page at {:#x} is not in memory", address));
    }
    std::uint64_t word = 0;
    std::memcpy(&word, window_.data() + (address - copied_.begin), sizeof(word));
    return word;
}

Result<std::size_t> FreeBlockReader::bytes(Address address, std::span<std::byte> into) {
    ASSIGN_OR_RETURN(const bool copied, copy(address, into.size()));
    if (!copied && !copied_.contains(address)) {
        return 0U;
    }
    const auto got = std::min<std::uint64_t>(into.size(), copied_.end - address);
    std::memcpy(into.data(), window_.data() + (address - copied_.begin), got);
    return got;
}

/// One walk over a carrier's blocks.
class FreeBlockReader::Walk {
  public:
    /// `visit`: may be empty.
    Walk(FreeBlockReader& reader, const CarrierPlace& carrier, const UsedVisitor& visit)
        : reader_(reader), carrier_(carrier), visit_(visit) {}

    Result<FreeBlocks> run() {
        auto block = carrier_.range.begin + carrier_.header_bytes;
        for (bool last = false; !last;) {
            ASSIGN_OR_RETURN(const auto word, reader_.word(block));
            const BlockHeader header{word};
            const bool is_free = header.is_free();
            const auto size = header.bytes();
            if (size < BlockHeader::kLeastBlockBytes || size > carrier_.range.end - block) {
                return contradiction(block, "a size inside of the carrier", word);
            }
            if (header.previous_is_free() != previous_free_ || (is_free && previous_free_)) {
                return contradiction(block, "a header that fits the block before it", word);
            }
            last = header.is_last();
            RETURN_IF_ERROR(is_free ? free_block(block, size, last)
                                    : used_block(block, size, header));
            block += size;
            previous_free_ = is_free;
        }
        if (carrier_.range.end - block >= BlockHeader::kLeastBlockBytes) {
            return contradiction(block, "the carrier's end behind its last block",
                                 carrier_.range.end);
        }
        if (used_ != carrier_.blocks || used_bytes_ != carrier_.block_bytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("carrier at {:#x}: expected the {} blocks of {} bytes that it "
                                    "counts, found {} of {}",
                                    carrier_.range.begin, carrier_.blocks, carrier_.block_bytes,
                                    used_, used_bytes_));
        }
        return found_;
    }

  private:
    /// A free block names its carrier, and but for the last ends with its size.
    Result<void> free_block(Address block, std::uint64_t size, bool last) {
        ASSIGN_OR_RETURN(const auto carrier, reader_.word(block + kWordBytes));
        if (carrier != carrier_.range.begin) {
            return contradiction(block, "its carrier in a free block", carrier);
        }
        if (!last) {
            ASSIGN_OR_RETURN(const auto footer, reader_.word(block + size - kWordBytes));
            if (footer != size) {
                return contradiction(block, "its size at the end of a free block", footer);
            }
        }
        found_.add(size);
        return {};
    }

    Result<void> used_block(Address block, std::uint64_t size, BlockHeader header) {
        const auto unit = [](Address address) { return address >> BlockHeader::kOffsetUnitShift; };
        if (unit(block) - unit(carrier_.range.begin) != header.carrier_distance()) {
            return contradiction(block, "its carrier's distance in a used block", header.word);
        }
        used_ += 1;
        used_bytes_ += size;
        return visit_ ? visit_({block + kHeaderBytes, size, header.is_tagged()}) : Result<void>();
    }

    FreeBlockReader& reader_;
    const CarrierPlace& carrier_;
    const UsedVisitor& visit_;
    FreeBlocks found_;
    std::uint64_t used_ = 0;
    std::uint64_t used_bytes_ = 0;
    bool previous_free_ = false;
};

Result<FreeBlocks> FreeBlockReader::read(CarrierPlace& carrier) {
    return read(carrier, UsedVisitor());
}

Result<FreeBlocks> FreeBlockReader::read(CarrierPlace& carrier, const UsedVisitor& visit) {
    copied_ = {};
    window_bytes_ = 0;
    ASSIGN_OR_RETURN(present_, vm_.target().pages().present(carrier.range));
    ASSIGN_OR_RETURN(const auto before, read_again(vm_, carrier));
    ASSIGN_OR_RETURN(
        auto found, before.single_block ? single(before, visit) : Walk(*this, before, visit).run());
    ASSIGN_OR_RETURN(const auto after, read_again(vm_, carrier));
    if (after.blocks != before.blocks || after.block_bytes != before.block_bytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("carrier at {:#x}: its blocks changed while they were read",
                                carrier.range.begin));
    }
    carrier = after;
    return found;
}

/// The one block of a carrier.
Result<FreeBlocks> FreeBlockReader::single(const CarrierPlace& carrier, const UsedVisitor& visit) {
    LayoutNames names(vm_.layout());
    const CarrierFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    const auto block = carrier.range.begin + fields.pool.offset;
    ASSIGN_OR_RETURN(const auto header, word(block));
    if (BlockHeader{header}.single_bytes() != carrier.block_bytes ||
        carrier.block_bytes > carrier.range.end - block) {
        return contradiction(block, "the size of the carrier's one block", header);
    }
    if (visit) {
        RETURN_IF_ERROR(
            visit({block + kHeaderBytes, carrier.block_bytes, BlockHeader{header}.is_tagged()}));
    }
    return FreeBlocks();
}

Result<HeapBlocks> HeapBlocks::find(Vm& vm) {
    LayoutNames names(vm.layout());
    const CarrierFields fields(names);
    const std::array allocators = {names.constant(runtime::constant::allocator_heap),
                                   names.constant(runtime::constant::allocator_temporary)};
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
