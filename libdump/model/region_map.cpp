#include <libdump/base/return_if_error.h>
#include <libdump/model/region_map.h>
#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace beamdump {

namespace {
constexpr std::uint64_t kBlockWords = 8192;
constexpr std::size_t kBlocksHeld = 64;
}  // namespace

RegionMap::RegionMap(DumpReader& reader, std::vector<Region> regions, Gaps gaps)
    : reader_(reader), regions_(std::move(regions)), gaps_(gaps), blocks_(kBlocksHeld) {
    std::erase_if(regions_, [](const Region& region) { return region.unit_bytes() != kWordBytes; });
    std::ranges::sort(regions_, {}, &Region::address);
    std::uint64_t end = 0;
    for (const Region& region : regions_) {
        longest_bytes_ = std::max(longest_bytes_, region.total * kWordBytes);
        overlapping_ = overlapping_ || region.address < end;
        end = std::max(end, region.end_address());
    }
}

/// The region written last of all that have an address.
const Region* RegionMap::latest(std::uint64_t address) const {
    const Region* found = nullptr;
    auto at = std::ranges::upper_bound(regions_, address, {}, &Region::address);
    while (at != regions_.begin()) {
        --at;
        if (address - at->address >= longest_bytes_) {
            break;
        }
        if (address < at->end_address() && (found == nullptr || at->offset > found->offset)) {
            found = &*at;
        }
    }
    return found;
}

/// Where a region's words end: at its own end, or where a later region begins.
std::uint64_t RegionMap::words_until_next(std::uint64_t address) const {
    const auto next = std::ranges::upper_bound(regions_, address, {}, &Region::address);
    return !overlapping_ || next == regions_.end()
               ? std::numeric_limits<std::uint64_t>::max()
               : (next->address - address + kWordBytes - 1) / kWordBytes;
}

const Region* RegionMap::find(std::uint64_t address) const {
    if (overlapping_) {
        return latest(address);
    }
    auto after = std::ranges::upper_bound(regions_, address, {}, &Region::address);
    if (after == regions_.begin()) {
        return nullptr;
    }
    const Region& region = *std::prev(after);
    return address < region.end_address() ? &region : nullptr;
}

Result<std::shared_ptr<const RegionMap::Block>> RegionMap::block(const Region& region,
                                                                 std::uint64_t number) {
    const std::pair key(region.offset, number);
    if (auto known = blocks_.find(key)) {
        return known;
    }
    const std::uint64_t first = number * kBlockWords;
    const std::size_t count = std::min(kBlockWords, region.here - first);
    Block block{std::make_unique_for_overwrite<std::uint64_t[]>(count), count};
    RETURN_IF_ERROR(read_region(reader_, region, first * kWordBytes,
                                std::as_writable_bytes(std::span(block.words.get(), count))));
    return blocks_.insert(key, std::move(block));
}

Result<std::size_t> RegionMap::words(std::uint64_t address, std::span<std::uint64_t> into) {
    const Region* region = find(address);
    if (region == nullptr || address % kWordBytes != 0) {
        return fail(ErrorCode::kUnmapped,
                    fmt::format("address {:#x} lies in none of the captured regions", address));
    }
    std::uint64_t index = (address - region->address) / kWordBytes;
    if (index >= region->here) {
        return fail(
            ErrorCode::kAbsent,
            fmt::format("the word at {:#x} (word {} of {} from {:#x}) is {}", address, index,
                        region->total, region->address, absence_reason(region->state)));
    }
    into = into.first(std::min<std::uint64_t>(into.size(), words_until_next(address)));
    std::size_t given = 0;
    while (given < into.size() && index < region->here) {
        ASSIGN_OR_RETURN(auto held, block(*region, index / kBlockWords));
        const std::size_t within = index % kBlockWords;
        const std::size_t step = std::min(into.size() - given, held->count - within);
        std::copy_n(held->words.get() + within, step,
                    into.begin() + static_cast<std::ptrdiff_t>(given));
        given += step;
        index += step;
    }
    if (gaps_ == Gaps::kMarked) {
        const auto here = into.first(given);
        given =
            static_cast<std::size_t>(std::ranges::find(here, format::kLackingWord) - here.begin());
        if (given == 0 && !into.empty()) {
            return fail(ErrorCode::kUnmapped,
                        fmt::format("the crash dump does not have the word at {:#x}", address));
        }
    }
    return given;
}

}  // namespace beamdump
