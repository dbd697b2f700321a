#pragma once

#include "beam/ets/ets_walk.h"
#include "capture/copy/binary_store.h"
#include "capture/copy/disjoint_ranges.h"

#include <libdump/write/run_record_writer.h>

namespace beamdump::capture {

/// Writes the rows of one table: what the walk found untorn, and the binaries that they refer to.
class EtsRowsWriter {
  public:
    /// Non-owning. `moving`: the node runs, so that a later row may be where an earlier one was.
    EtsRowsWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, std::uint64_t table,
                  std::uint32_t epoch, bool moving);
    static Result<void> check(const beam::Layout& layout);

    /// False: what the rows refer to changed while it was copied; nothing of them was written.
    Result<bool> add(std::span<const beam::EtsRow> rows, const std::function<Result<bool>()>& same);
    /// The last record, with what `about` says; the offsets of all of them.
    Result<std::vector<std::uint64_t>> finish(records::EtsRows about);

    [[nodiscard]] std::uint64_t rows() const { return written_ + rows_; }

  private:
    /// Binaries of a row's off-heap things, all of which are inside its words. False: they are not.
    [[nodiscard]] bool binaries_of(const beam::EtsRow& row, std::vector<Address>& into) const;
    Result<void> begin_unless_free(const beam::EtsRow& row);
    Result<void> write(const beam::EtsRow& row);
    Result<void> write_region(const beam::EtsRow& row, std::span<std::byte> bytes);
    Result<void> flush(records::EtsRows record);

    RegionCopier& copier_;
    BinaryStore& binaries_;
    std::uint64_t table_;
    std::uint32_t epoch_;
    bool moving_;
    beam::LayoutNames names_;
    beam::Field thing_, next_;
    beam::BinaryReferenceFields reference_;
    std::optional<RunRecordWriter> records_;
    std::vector<std::uint64_t> offsets_;
    std::uint64_t written_ = 0, rows_ = 0, words_ = 0, regions_ = 0, binaries_before_ = 0;
    DisjointRanges here_;  // of the rows in this record
    records::PackedRegion packed_;
};

}  // namespace beamdump::capture
