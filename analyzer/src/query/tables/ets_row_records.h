#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/model/process_context.h>
#include <libdump/model/process_run.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace beamdump::query {

/// Where a row's tuple is, and the words of its block from there on.
struct EtsRowPlace {
    std::uint64_t address = 0;
    std::uint64_t words = 0;
};

/// One record of rows, and what their terms are read through.
struct EtsRowRecord {
    ProcessRun run;
    std::unique_ptr<ProcessContext> context;
};

/// The record of rows at an offset. Non-owning: the dump must outlive it.
Result<std::unique_ptr<EtsRowRecord>> open_ets_rows(Dump& dump, std::uint64_t offset);

/// Tells the record's rows as they stand, until `visit` says that it needs no more. Whether it
/// needed all.
Result<bool> visit_ets_rows(Dump& dump, const EtsRowRecord& record,
                            const std::function<bool(EtsRowPlace place)>& visit);

/// Tells the rows at these places in a record, which ascend, as visit_ets_rows() does. Packs
/// without any of them are not read.
Result<bool> visit_ets_rows_at(Dump& dump, const EtsRowRecord& record,
                               std::span<const std::uint64_t> places,
                               const std::function<bool(EtsRowPlace place)>& visit);

}  // namespace beamdump::query
