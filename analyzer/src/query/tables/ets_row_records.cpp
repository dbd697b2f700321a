#include "query/tables/ets_row_records.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <map>
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

bool lacks_rows(const records::EtsRows& record) {
    return record.locked() + record.changed() + record.unreadable() != 0 || record.resized() ||
           record.cut_off() || record.gone();
}

Result<std::vector<std::uint64_t>> ets_row_offsets(Dump& dump) {
    const auto& all = dump.trailer().ets_rows_offset();
    if (dump.reader().recovered() == nullptr) {
        return std::vector<std::uint64_t>(all.begin(), all.end());
    }
    struct Reading {
        std::vector<std::uint64_t> offsets = {};
        std::uint64_t rows = 0;
        bool whole = false;
    };
    std::map<std::uint64_t, std::vector<Reading>> tables;
    for (const auto offset : all) {
        ASSIGN_OR_RETURN(const auto record, dump.reader().message_at<records::EtsRows>(
                                                offset, format::RecordKind::kEtsRows));
        if (!record.has_table_index()) {
            continue;
        }
        auto& readings = tables[record.table_index()];
        if (readings.empty() || (record.has_first_row() && record.first_row() == 0)) {
            readings.emplace_back();
        }
        readings.back().offsets.push_back(offset);
        readings.back().rows += record.rows();
        readings.back().whole = record.last() && !lacks_rows(record);
    }
    std::vector<std::uint64_t> offsets;
    for (const auto& [table, readings] : tables) {
        const auto best = std::ranges::max_element(readings, {}, [](const Reading& reading) {
            return std::pair(reading.whole, reading.rows);
        });
        offsets.insert(offsets.end(), best->offsets.begin(), best->offsets.end());
    }
    return offsets;
}

Result<EtsRowRecords> EtsRowRecords::of_table(Dump& dump, std::uint64_t table) {
    EtsRowRecords records(dump, table);
    ASSIGN_OR_RETURN(records.offsets_, ets_row_offsets(dump));
    RETURN_IF_ERROR(records.find_first());
    return records;
}

Result<records::EtsRows> EtsRowRecords::record(std::size_t at) {
    return dump_->reader().message_at<records::EtsRows>(offsets_[at], format::RecordKind::kEtsRows);
}

Result<void> EtsRowRecords::find_first() {
    std::size_t first = 0;
    std::size_t end = offsets_.size();
    while (first < end) {
        const auto middle = first + (end - first) / 2;
        ASSIGN_OR_RETURN(const auto found, record(middle));
        if (found.table_index() < table_) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    if (first < offsets_.size()) {
        ASSIGN_OR_RETURN(const auto found, record(first));
        together_ =
            found.has_table_index() && found.table_index() == table_ && found.first_row() == 0;
    }
    // Of records that do not stand in the order of tables each is looked at.
    at_ = together_ ? first : 0;
    return {};
}

Result<std::optional<EtsRowRecords::Placed>> EtsRowRecords::next() {
    for (; at_ < offsets_.size(); ++at_) {
        ASSIGN_OR_RETURN(auto found, record(at_));
        if (found.has_table_index() && found.table_index() == table_) {
            return Placed{offsets_[at_++], std::move(found)};
        }
        if (together_) {
            break;
        }
    }
    return std::nullopt;
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
