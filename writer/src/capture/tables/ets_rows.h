#pragma once

#include "capture/copy/row_writer.h"

#include <vector>

namespace beamdump::capture {

/// Writes the rows of one table: what the walk found untorn, and the binaries that they refer to.
class EtsRowsWriter {
  public:
    /// Non-owning. `moving`: the node runs, so that a later row may be where an earlier one was.
    EtsRowsWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, std::uint64_t table,
                  std::uint32_t epoch, bool moving);
    EtsRowsWriter(const EtsRowsWriter&) = delete;
    EtsRowsWriter& operator=(const EtsRowsWriter&) = delete;
    ~EtsRowsWriter() = default;

    /// As RowWriter::add().
    Result<bool> add(std::span<const beam::EtsRow> rows,
                     const std::function<Result<bool>()>& same) {
        return rows_.add(rows, same);
    }
    /// The last record, with what `about` says; the offsets of all of them.
    Result<std::vector<std::uint64_t>> finish(records::EtsRows about);

    [[nodiscard]] std::uint64_t rows() const { return rows_.rows(); }

  private:
    Result<void> write(RowWriter::Part part);

    DumpWriter& writer_;
    std::uint64_t table_;
    std::uint32_t epoch_;
    RowWriter rows_;
    records::EtsRows about_;  // what the next record says beside its rows
    std::vector<std::uint64_t> offsets_;
};

}  // namespace beamdump::capture
