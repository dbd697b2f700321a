#include "capture/tables/ets_rows.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kRowsOfARecord = std::uint64_t{1} << 20U;
constexpr std::uint64_t kRowsInMotion = std::uint64_t{1} << 16U;  // places held at a time

}  // namespace

EtsRowsWriter::EtsRowsWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries,
                             std::uint64_t table, std::uint32_t epoch, bool moving)
    : writer_(copier.writer()),
      table_(table),
      epoch_(epoch),
      rows_(vm, copier, binaries,
            {format::OwnerKind::kEtsTable, table, format::RegionKind::kEtsRow,
             moving ? kRowsInMotion : kRowsOfARecord},
            moving, [this](RowWriter::Part part) { return write(std::move(part)); }) {}

Result<void> EtsRowsWriter::write(RowWriter::Part part) {
    auto record = std::exchange(about_, {});
    record.set_table_index(table_);
    record.set_first_row(part.first_row);
    record.set_rows(part.rows);
    record.set_epoch(epoch_);
    record.set_binaries_before_offset(part.binaries_before_offset);
    *record.mutable_directory() = std::move(part.directory);
    ASSIGN_OR_RETURN(const auto offset, writer_.append(format::RecordKind::kEtsRows, record));
    offsets_.push_back(offset);
    return {};
}

Result<std::vector<std::uint64_t>> EtsRowsWriter::finish(records::EtsRows about) {
    about_ = std::move(about);
    about_.set_last(true);
    RETURN_IF_ERROR(rows_.flush());
    return std::move(offsets_);
}

}  // namespace beamdump::capture
