#include "query/memory/carriers.h"

#include "query/tables/first_items.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <tuple>

namespace beamdump::query {
namespace {

CarrierLine line_of(const records::Carrier& record, const std::string& allocator) {
    CarrierLine line;
    line.allocator = allocator;
    line.instance = record.instance();
    line.address = record.address();
    line.bytes = record.bytes();
    line.single_block = record.single_block();
    line.pooled = record.pooled();
    line.mseg = record.mseg();
    line.blocks = record.blocks();
    line.block_bytes = record.block_bytes();
    if (record.has_free_blocks()) {
        line.free_blocks = record.free_blocks();
        line.largest_free_bytes = record.largest_free_bytes();
    }
    return line;
}

/// What stands first is larger.
std::uint64_t amount(const CarrierLine& line, CarrierOrder order) {
    switch (order) {
        case CarrierOrder::kBytes:
            return line.bytes;
        case CarrierOrder::kBlocks:
            return line.block_bytes;
        case CarrierOrder::kFree:
            return line.free_bytes();
        case CarrierOrder::kAddress:
            break;
    }
    return 0;
}

}  // namespace

std::optional<std::uint64_t> utilisation(std::uint64_t used, std::uint64_t whole) {
    constexpr double kTenthsOfAPercent = 1000.0;
    if (whole == 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(static_cast<double>(used) * kTenthsOfAPercent /
                                      static_cast<double>(whole));
}

std::optional<FreeBlockSums> free_block_sums(const records::SystemMemory& system,
                                             const AllocatorNames& names) {
    std::optional<FreeBlockSums> sums;
    std::map<std::uint64_t, FreeBlockClass> sizes;
    for (const auto& record : system.free_blocks()) {
        if (!names.contains(record.allocator())) {
            continue;
        }
        auto& sum = sums ? *sums : sums.emplace();
        sum.carriers += record.carriers();
        sum.carrier_bytes += record.carrier_bytes();
        sum.read_carriers += record.read_carriers();
        sum.read_carrier_bytes += record.read_carrier_bytes();
        sum.changed_carriers += record.changed_carriers();
        sum.unreadable_carriers += record.unreadable_carriers();
        if (record.has_largest_bytes()) {
            sum.largest_bytes = std::max(sum.largest_bytes.value_or(0), record.largest_bytes());
        }
        for (const auto& found : record.sizes()) {
            auto& added = sizes[found.from_bytes()];
            added.from_bytes = found.from_bytes();
            added.count += found.count();
            added.bytes += found.bytes();
            sum.count += found.count();
            sum.bytes += found.bytes();
        }
    }
    for (const auto& [from, added] : sizes) {
        sums->sizes.push_back(added);
    }
    return sums;
}

Result<CarrierListing> list_carriers(Dump& dump, const AllocatorNames& names, CarrierOrder order,
                                     std::uint64_t limit) {
    if (dump.trailer().carriers_offset().empty()) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no carriers: it is a crash dump, was captured by an older "
                    "version, or they could not be read (the warnings of summary tell)");
    }
    const auto before = [order](const CarrierLine& one, const CarrierLine& other) {
        return std::tuple(amount(other, order), one.address) <
               std::tuple(amount(one, order), other.address);
    };
    FirstItems<CarrierLine, decltype(before)> first(limit, before);
    CarrierListing listing;
    for (const auto offset : dump.trailer().carriers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Carriers>(
                                              offset, format::RecordKind::kCarriers));
        for (const auto& record : page.carrier()) {
            if (const auto named = names.find(record.allocator()); named != names.end()) {
                first.add(line_of(record, named->second));
                ++listing.matching;
            }
        }
    }
    listing.lines = first.take();
    return listing;
}

}  // namespace beamdump::query
