#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/allocators/segments.h>
#include <libvm/beam/layout/struct_view.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

/// No address of a process is higher on any architecture.
constexpr memory::Address kAddressEnd = memory::Address{1} << 56U;

/// One instance of mseg_alloc: the entries of its cache are inside of it.
class SegmentCacheWalk {
  public:
    SegmentCacheWalk(const SegmentFields& fields, Address address, StructView instance)
        : fields_(fields), address_(address), instance_(instance) {}

    Result<void> add_to(std::vector<memory::AddressRange>& segments) {
        const auto before = segments.size();
        RETURN_IF_ERROR(list(fields_.unpowered.offset, segments));
        const auto lists = fields_.powered.bytes / fields_.entry_bytes;
        for (std::uint32_t index = 0; index < lists; ++index) {
            RETURN_IF_ERROR(list(fields_.powered.offset + index * fields_.entry_bytes, segments));
        }
        const auto count = instance_.get(fields_.cache_size);
        if (segments.size() - before != count) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("mseg_alloc at {:#x}: expected {} cached segments, found {}",
                                    address_, count, segments.size() - before));
        }
        return {};
    }

  private:
    /// A circular list through a member that is no segment.
    Result<void> list(std::uint32_t head, std::vector<memory::AddressRange>& segments) {
        auto left = instance_.bytes().size() / fields_.entry_bytes;
        ASSIGN_OR_RETURN(auto entry, following(head));
        while (entry != head) {
            const auto bytes = instance_.get(field(entry, fields_.entry_size));
            const auto begin = instance_.get(field(entry, fields_.entry_segment));
            const bool whole = bytes != 0 && bytes < kMaxMemoryBytes && begin != 0 &&
                               begin < kAddressEnd && (bytes | begin) % kLeastPageBytes == 0;
            if (!whole || left-- == 0) {
                return fail(ErrorCode::kImplausible,
                            fmt::format("mseg_alloc at {:#x}: expected a cached segment, found "
                                        "{:#x} bytes at {:#x}",
                                        address_, bytes, begin));
            }
            segments.push_back({begin, begin + bytes});
            ASSIGN_OR_RETURN(entry, following(entry));
        }
        return {};
    }

    /// Where the entry after the one at this offset is, as an offset.
    Result<std::uint32_t> following(std::uint32_t entry) {
        const auto next = instance_.get(field(entry, fields_.entry_next));
        const auto room = instance_.bytes().size() - fields_.entry_bytes;
        if (next < address_ || next - address_ > room) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("mseg_alloc at {:#x}: expected its cache's entries inside of "
                                    "it, found one at {:#x}",
                                    address_, next));
        }
        return static_cast<std::uint32_t>(next - address_);
    }

    static Field field(std::uint32_t entry, Field which) {
        return {entry + which.offset, which.bytes};
    }

    const SegmentFields& fields_;
    Address address_;
    StructView instance_;
};

}  // namespace

Result<std::vector<memory::AddressRange>> read_segment_cache(Vm& vm, std::uint32_t instances) {
    const auto& found = vm.tables().memory.segment_allocators;
    if (!found) {
        return fail(ErrorCode::kAbsent, "mseg_alloc's instances were not found");
    }
    LayoutNames names(vm.layout());
    const SegmentFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    std::vector<memory::AddressRange> segments;
    for (std::uint32_t index = 0; index < instances; ++index) {
        const auto address = *found + std::uint64_t{index} * fields.stride;
        ASSIGN_OR_RETURN(const auto read,
                         OwnedStruct::read(vm.bulk(), address, fields.allocator_bytes));
        if (read.view().get(fields.index) != index) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("mseg_alloc at {:#x}: expected instance {}, found {}", address,
                                    index, read.view().get(fields.index)));
        }
        RETURN_IF_ERROR(SegmentCacheWalk(fields, address, read.view()).add_to(segments));
    }
    return segments;
}

Result<records::MemoryMapper> read_memory_mapper(Vm& vm, Address address) {
    LayoutNames names(vm.layout());
    const SegmentFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm.bulk(), address, fields.mapper_bytes));
    const auto mapper = read.view();
    const auto super_carrier = mapper.get(fields.super_carrier);
    const auto total = mapper.get(fields.super_total);
    const auto used = mapper.get(fields.super_used);
    const auto os = mapper.get(fields.os_used);
    if (super_carrier > 1 || total > kMaxMemoryBytes || used > total || os > kMaxMemoryBytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("memory mapper at {:#x}: expected sizes, found {:#x} used of "
                                "{:#x}, and {:#x}",
                                address, used, total, os));
    }
    records::MemoryMapper record;
    record.set_super_carrier(super_carrier == 1);
    if (super_carrier == 1) {
        record.set_super_carrier_bytes(total);
        record.set_super_carrier_used_bytes(used);
    }
    record.set_os_bytes(os);
    return record;
}

}  // namespace beamdump::beam
