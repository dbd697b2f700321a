#pragma once

#include "query/node/dump_facts.h"
#include "query/node/process_line.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

enum class ProcessSort : std::uint8_t { kMemory, kReductions, kQueue, kName, kPid };

/// The field of a filter.
enum class FilterField : std::uint8_t {
    kAny,
    kPid,
    kName,
    kInitialCall,
    kCurrentFunction,
    kStatus,
};

/// Selects processes whose field, as shown, contains the text.
struct ProcessFilter {
    FilterField field = FilterField::kAny;
    std::string text;
};

/// Parses `text`, which matches any field, or `field=text`. kUsage for an unknown field or status,
/// with the known ones.
Result<ProcessFilter> parse_filter(std::string_view argument);

/// Parses memory, reductions, queue, name or pid. kUsage.
Result<ProcessSort> parse_sort(std::string_view name);

struct ProcessQuery {
    ProcessSort sort = ProcessSort::kMemory;
    std::vector<ProcessFilter> filters;  ///< all must match
    std::uint64_t limit = 20;            ///< 0: all
};

/// The selected processes in order, in batches. Numbers sort largest first, names and pids
/// ascending. Only the columns that sorting and filtering need are read for all processes. Memory:
/// 16 bytes for each process that matches, at most twice `limit` of them, and one batch.
class ProcessListing {
  public:
    static Result<ProcessListing> select(Dump& dump, const ProcessQuery& query);

    [[nodiscard]] std::uint64_t total() const { return total_; }  ///< in the dump
    [[nodiscard]] std::uint64_t matching() const { return matching_; }
    [[nodiscard]] std::uint64_t shown() const { return rows_.size(); }

    /// The next lines, at most 65,536; empty at the end.
    Result<std::vector<ProcessLine>> next();

  private:
    explicit ProcessListing(Dump& dump) : dump_(&dump) {}

    Dump* dump_;  // non-owning
    std::vector<std::uint64_t> rows_;
    std::uint64_t total_ = 0;
    std::uint64_t matching_ = 0;
    std::size_t given_ = 0;
};

}  // namespace beamdump::query
