#pragma once

#include <libdump/write/dump_writer.h>

#include <array>
#include <vector>

namespace beamdump {

/// Builds the process index while the dump is written: pages of columns, top lists and totals.
/// Memory: one page of rows.
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
    };
    Result<void> flush();
    static void place(Top& top, const records::ProcessRow& row);

    DumpWriter& writer_;
    std::vector<records::ProcessRow> rows_;
    std::uint64_t first_row_ = 0;
    std::vector<records::ProcessPageRef> pages_;
    std::array<Top, 3> tops_ = {{{records::PROCESS_COLUMN_MEMORY_BYTES, {}},
                                 {records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH, {}},
                                 {records::PROCESS_COLUMN_REDUCTIONS, {}}}};
    records::Totals totals_;
};

}  // namespace beamdump
