#include "query/tables/ets_row_records.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {

Result<std::unique_ptr<EtsRowRecord>> open_ets_rows(Dump& dump, std::uint64_t offset) {
    ASSIGN_OR_RETURN(const auto message, dump.reader().message_at<records::EtsRows>(
                                             offset, format::RecordKind::kEtsRows));
    auto record = std::make_unique<EtsRowRecord>();
    ASSIGN_OR_RETURN(record->run.directory,
                     read_directory(dump.reader(), message.directory(), offset));
    record->run.row.set_end_offset(message.binaries_before_offset());
    record->context = std::make_unique<ProcessContext>(dump, record->run);
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
        ASSIGN_OR_RETURN(const auto rows, dump.reader().message_at<records::PackedRegions>(
                                              pack.offset, format::RecordKind::kPackedRegions));
        for (const auto& row : rows.region()) {
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
        ASSIGN_OR_RETURN(const auto rows, dump.reader().message_at<records::PackedRegions>(
                                              pack.offset, format::RecordKind::kPackedRegions));
        for (const auto& row : rows.region()) {
            if (is_wanted() &&
                !visit({row.address(), static_cast<std::uint64_t>(row.words_size())})) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace beamdump::query
