#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_context.h>
#include <libdump/model/process_run.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::query {

/// Where a row's tuple is, and the words of its block from there on.
struct EtsRowPlace {
    std::uint64_t address = 0;
    std::uint64_t words = 0;
};

/// The words of rows, first those of the pack at hand: rows are in the order of their table, so
/// that each pack spans the addresses of many, and else all are read to find one row.
class EtsRowContext final : public ProcessContext {
  public:
    using ProcessContext::ProcessContext;

    /// Rows whose terms are read from now on; null: none.
    void take_up(std::shared_ptr<const records::PackedRegions> pack);

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;
    std::uint64_t words_begin(std::uint64_t address) override;

  private:
    /// The row that has the address, with all of its words; null: none at hand does.
    [[nodiscard]] const records::PackedRegion* row_with(std::uint64_t address) const;

    std::shared_ptr<const records::PackedRegions> pack_;
    std::vector<int> by_address_;
};

/// One record of rows, and what their terms are read through.
struct EtsRowRecord {
    ProcessRun run;
    std::unique_ptr<EtsRowContext> context;
};

/// The record of rows at an offset. Non-owning: the dump must outlive it.
Result<std::unique_ptr<EtsRowRecord>> open_ets_rows(Dump& dump, std::uint64_t offset);

/// Whether rows of a table are missing, by what a record of them says.
bool lacks_rows(const records::EtsRows& record);

/// The places of the records of rows, table by table. Of a dump whose end is missing, where a table
/// that kept changing may have been read several times, those of its best reading: a whole one, or
/// the one with most rows.
Result<std::vector<std::uint64_t>> ets_row_offsets(Dump& dump);

/// The records of one table's rows, in order, each read when it is asked for. Non-owning: the dump
/// must outlive it.
class EtsRowRecords {
  public:
    /// Reads few records to find the first one of the table.
    static Result<EtsRowRecords> of_table(Dump& dump, std::uint64_t table);

    struct Placed {
        std::uint64_t offset = 0;
        records::EtsRows record;
    };
    /// Absent after the last one.
    Result<std::optional<Placed>> next();

  private:
    EtsRowRecords(Dump& dump, std::uint64_t table) : dump_(&dump), table_(table) {}

    Result<records::EtsRows> record(std::size_t at);
    Result<void> find_first();

    Dump* dump_;
    std::uint64_t table_;
    std::vector<std::uint64_t> offsets_;
    std::size_t at_ = 0;
    bool together_ = false;  ///< the records of the table stand together from at_ on
};

/// Tells the record's rows as they stand, until `visit` says that it needs no more. Whether it
/// needed all.
Result<bool> visit_ets_rows(Dump& dump, const EtsRowRecord& record,
                            const std::function<bool(EtsRowPlace place)>& visit);

/// How many rows from `row` on are at hand together: those of one pack, or all that are in no pack.
std::uint64_t rows_at_hand(const EtsRowRecord& record, std::uint64_t row);

/// Tells the rows at these places in a record, which ascend, as visit_ets_rows() does. Packs
/// without any of them are not read.
Result<bool> visit_ets_rows_at(Dump& dump, const EtsRowRecord& record,
                               std::span<const std::uint64_t> places,
                               const std::function<bool(EtsRowPlace place)>& visit);

}  // namespace beamdump::query
