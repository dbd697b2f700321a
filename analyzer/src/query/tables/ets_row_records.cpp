#include "query/tables/ets_row_records.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::uint64_t kRowBytes = 8;  // of a word

/// Reads a pack, whose rows the context has first from then on.
Result<std::shared_ptr<const records::PackedRegions>> pack_at_hand(Dump& dump,
                                                                   const EtsRowRecord& record,
                                                                   std::uint64_t offset) {
    ASSIGN_OR_RETURN(auto rows, dump.reader().message_at<records::PackedRegions>(
                                    offset, format::RecordKind::kPackedRegions));
    auto pack = std::make_shared<const records::PackedRegions>(std::move(rows));
    record.context->take_up(pack);
    return pack;
}

}  // namespace

void EtsRowContext::take_up(std::shared_ptr<const records::PackedRegions> pack) {
    pack_ = std::move(pack);
    by_address_.resize(pack_ == nullptr ? 0 : static_cast<std::size_t>(pack_->region_size()));
    std::iota(by_address_.begin(), by_address_.end(), 0);
    std::ranges::sort(by_address_, {}, [this](int at) { return pack_->region(at).address(); });
}

const records::PackedRegion* EtsRowContext::row_with(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(
        by_address_, address, {}, [this](int at) { return pack_->region(at).address(); });
    if (after == by_address_.begin()) {
        return nullptr;
    }
    const auto& row = pack_->region(*std::prev(after));
    const auto words = static_cast<std::uint64_t>(row.words_size());
    return row.total_words() <= words && (address - row.address()) / kRowBytes < words ? &row
                                                                                       : nullptr;
}

Result<std::size_t> EtsRowContext::words(std::uint64_t address, std::span<std::uint64_t> into) {
    const auto* row = row_with(address);
    if (row == nullptr) {
        return ProcessContext::words(address, into);
    }
    const auto first = (address - row->address()) / kRowBytes;
    const auto count =
        std::min<std::size_t>(into.size(), static_cast<std::size_t>(row->words_size()) - first);
    std::copy_n(row->words().begin() + static_cast<std::ptrdiff_t>(first), count, into.begin());
    return count;
}

std::uint64_t EtsRowContext::words_begin(std::uint64_t address) {
    const auto* row = row_with(address);
    return row == nullptr ? ProcessContext::words_begin(address) : row->address();
}

std::uint64_t rows_at_hand(const EtsRowRecord& record, std::uint64_t row) {
    const auto alone = static_cast<std::uint64_t>(std::ranges::count(
        record.run.directory.regions, format::RegionKind::kEtsRow, &Region::kind));
    if (row < alone) {
        return alone - row;
    }
    row -= alone;
    for (const auto& pack : record.run.directory.packed_regions) {
        if (row < pack.count) {
            return pack.count - row;
        }
        row -= pack.count;
    }
    return 0;
}

Result<std::unique_ptr<EtsRowRecord>> open_ets_rows(Dump& dump, std::uint64_t offset) {
    ASSIGN_OR_RETURN(const auto message, dump.reader().message_at<records::EtsRows>(
                                             offset, format::RecordKind::kEtsRows));
    auto record = std::make_unique<EtsRowRecord>();
    ASSIGN_OR_RETURN(record->run.directory,
                     read_directory(dump.reader(), message.directory(), offset));
    record->run.row.set_end_offset(message.binaries_before_offset());
    record->context = std::make_unique<EtsRowContext>(dump, record->run);
    return record;
}

Result<bool> visit_ets_rows(Dump& dump, const EtsRowRecord& record,
                            const std::function<bool(EtsRowPlace place)>& visit) {
    for (const auto& region : record.run.directory.regions) {
        if (region.kind == format::RegionKind::kEtsRow && !visit({region.address, region.total})) {
            return false;
        }
    }
    for (const auto& pack : record.run.directory.packed_regions) {
        ASSIGN_OR_RETURN(const auto rows, pack_at_hand(dump, record, pack.offset));
        for (const auto& row : rows->region()) {
            if (!visit({row.address(), static_cast<std::uint64_t>(row.words_size())})) {
                return false;
            }
        }
    }
    return true;
}

Result<bool> visit_ets_rows_at(Dump& dump, const EtsRowRecord& record,
                               std::span<const std::uint64_t> places,
                               const std::function<bool(EtsRowPlace place)>& visit) {
    std::uint64_t at = 0;
    const auto is_wanted = [&] {
        const bool wanted = !places.empty() && places.front() == at;
        places = wanted ? places.subspan(1) : places;
        ++at;
        return wanted;
    };
    for (const auto& region : record.run.directory.regions) {
        if (region.kind == format::RegionKind::kEtsRow && is_wanted() &&
            !visit({region.address, region.total})) {
            return false;
        }
    }
    for (const auto& pack : record.run.directory.packed_regions) {
        if (places.empty()) {
            break;
        }
        if (places.front() >= at + pack.count) {
            at += pack.count;
            continue;
        }
        ASSIGN_OR_RETURN(const auto rows, pack_at_hand(dump, record, pack.offset));
        for (const auto& row : rows->region()) {
            if (is_wanted() &&
                !visit({row.address(), static_cast<std::uint64_t>(row.words_size())})) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace beamdump::query
