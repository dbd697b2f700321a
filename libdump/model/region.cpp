#include <libdump/base/return_if_error.h>
#include <libdump/model/region.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace beamdump {

namespace {

/// Checks one piece's header, so that words are never read from another region.
Result<void> check_header(DumpReader& reader, const Region& region) {
    ASSIGN_OR_RETURN(auto record, reader.record_at(region.offset));
    format::RegionHeader header;
    if (record.kind != format::RecordKind::kRegion || record.payload.size() < sizeof(header)) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("no region at offset {} of the dump, where its directory places "
                                "the one from address {:#x}",
                                region.offset, region.address));
    }
    std::memcpy(&header, record.payload.data(), sizeof(header));
    if (header.address != region.address || header.total != region.total || header.first != 0) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("the region at offset {} of the dump is from address {:#x} with {} "
                        "units, its directory says {:#x} with {}",
                        region.offset, header.address, header.total, region.address, region.total));
    }
    return {};
}

}  // namespace

std::uint64_t Region::unit_bytes() const {
    return kind == format::RegionKind::kBinaryContent || kind == format::RegionKind::kExternalData
               ? 1
               : 8;
}

Result<Region> region_of(const records::RegionRef& ref) {
    Region region;
    region.kind = static_cast<format::RegionKind>(ref.kind());
    region.state = static_cast<format::RegionState>(ref.state());
    region.address = ref.address();
    region.total = ref.total();
    region.here = ref.here();
    region.offset = ref.offset();
    region.striped = ref.striped();
    region.off_heap_first_address = ref.off_heap_first_address();
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - region.address;
    if (region.total > room / region.unit_bytes() || region.here > region.total) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the directory's region from address {:#x} claims {} units, {} of "
                                "them in the dump, which is impossible",
                                region.address, region.total, region.here));
    }
    return region;
}

Result<void> read_region(DumpReader& reader, const Region& region, std::uint64_t from,
                         std::span<std::byte> into) {
    const std::uint64_t held = region.here * region.unit_bytes();
    if (from > held || into.size() > held - from) {
        return fail(ErrorCode::kAbsent,
                    fmt::format("bytes {} to {} of the region from address {:#x} are not in the "
                                "dump, which has {} of them",
                                from, from + into.size(), region.address, held));
    }
    RETURN_IF_ERROR(check_header(reader, region));
    if (!region.striped) {
        return reader.read(region.offset + format::kRegionDataOffset + from, into);
    }
    const std::uint64_t frame_bytes = reader.header().frame_bytes;
    const std::uint64_t piece = format::stripe_data_bytes(frame_bytes);
    while (!into.empty()) {
        const auto step =
            static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), piece - from % piece));
        const std::uint64_t offset = format::stripe_offset(region.offset, from, frame_bytes);
        RETURN_IF_ERROR(reader.read(offset, into.first(step)));
        into = into.subspan(step);
        from += step;
    }
    return {};
}

std::string_view absence_reason(format::RegionState state) {
    switch (state) {
        case format::RegionState::kWhole:
            return "not captured";
        case format::RegionState::kPrefix:
            return "beyond the part that was captured";
        case format::RegionState::kRedacted:
            return "redacted";
        case format::RegionState::kNotPresent:
            return "not in the node's memory (swapped out or never touched)";
        case format::RegionState::kUnreadable:
            return "unreadable when captured";
        case format::RegionState::kLeftOut:
            return "left out of the capture";
    }
    return "not captured";
}

}  // namespace beamdump
