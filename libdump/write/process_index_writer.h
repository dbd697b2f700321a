#pragma once

#include <libdump/write/dump_writer.h>

#include <array>
#include <vector>

namespace beamdump {

/// Builds the process index while the dump is written: pages of columns, top lists and totals.
/// Memory: one page of columns.
class ProcessIndexWriter {
  public:
    explicit ProcessIndexWriter(DumpWriter& writer) : writer_(writer) {}

    Result<void> add(const records::ProcessRow& row);

    /// Writes the last page; sets pages, top lists and the rows' totals in the trailer.
    Result<void> finish(records::Trailer& trailer);

    [[nodiscard]] const records::Totals& totals() const { return totals_; }

  private:
    struct Top {
        records::ProcessColumnKind by;
        std::vector<records::ProcessRow> rows;  // largest first
        std::uint64_t least = 0;                // of these, once there are enough
    };
    Result<void> flush();
    static void place(Top& top, const records::ProcessRow& row, std::uint64_t value);

    DumpWriter& writer_;
    /// The columns of the page that is being filled; by kind.
    std::array<records::ProcessColumn, records::ProcessColumnKind_ARRAYSIZE> columns_;
    std::uint64_t rows_ = 0;  // of that page
    std::uint64_t first_row_ = 0;
    std::vector<records::ProcessPageRef> pages_;
    std::array<Top, 3> tops_ = {{{records::PROCESS_COLUMN_MEMORY_BYTES, {}, 0},
                                 {records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH, {}, 0},
                                 {records::PROCESS_COLUMN_REDUCTIONS, {}, 0}}};
    records::Totals totals_;
};

}  // namespace beamdump
