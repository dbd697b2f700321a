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

/// What a filter's text is searched for in.
enum class FilterField : std::uint8_t {
    kAny,
    kPid,
    kName,
    kInitialCall,
    kCurrentFunction,
    kStatus,
};

/// Keeps processes where the field (as shown) contains the text.
struct ProcessFilter {
    FilterField field = FilterField::kAny;
    std::string text;
};

/// `text`, which is searched for in all fields, or `field=text`. kUsage, with the fields or values
/// that there are, for a field or a status that is none.
Result<ProcessFilter> parse_filter(std::string_view argument);

/// memory, reductions, queue, name or pid. kUsage.
Result<ProcessSort> parse_sort(std::string_view name);

struct ProcessQuery {
    ProcessSort sort = ProcessSort::kMemory;
    std::vector<ProcessFilter> filters;  ///< all must hold
    std::uint64_t limit = 20;            ///< 0: all
};

/// The processes asked for, in order, a batch at a time. Numbers sort largest first, names and pids
/// ascending. Only the columns that sorting and filtering need are read for all processes. Memory:
/// 16 bytes for each process that matches, at most twice `limit` of them, and one batch.
class ProcessListing {
  public:
    static Result<ProcessListing> select(Dump& dump, const ProcessQuery& query);

    [[nodiscard]] std::uint64_t total() const { return total_; }  ///< in the dump
    [[nodiscard]] std::uint64_t matching() const { return matching_; }
    [[nodiscard]] std::uint64_t shown() const { return rows_.size(); }

    /// The next lines, at most 65,536; none at the end.
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
