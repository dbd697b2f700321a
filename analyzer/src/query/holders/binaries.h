#pragma once

#include "query/facts/dump_facts.h"
#include "query/holders/node_sweep.h"
#include "query/process/every_process.h"
#include "query/rows/fields.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

struct BinariesOptions {
    std::uint64_t limit = 20;  ///< 0: all
    InputLimits limits;
    ReadProgress progress = {};
};

/// What one process, ETS table, module's literals or all persistent terms keep alive of binaries,
/// in bytes of whole binaries, each once.
struct BinaryLeakLine {
    TermOwner owner;
    std::uint64_t binaries = 0;
    std::uint64_t kept_bytes = 0;
    std::uint64_t shown_bytes = 0;       ///< parts that its terms show
    std::uint64_t pinned_bytes = 0;      ///< the rest of binaries of which terms show a part
    std::uint64_t partial_binaries = 0;  ///< these binaries
    std::uint64_t partial_bytes = 0;     ///< of them, whole
    /// Of binaries that no term leads to any more; a collection drops them. Of a process; a crash
    /// dump does not tell.
    std::optional<std::uint64_t> garbage_bytes;
    /// Of these, the binaries that nobody else refers to: freed by a collection.
    std::optional<std::uint64_t> releasable_bytes;
    // The binary with most pinned bytes, if any.
    std::uint64_t worst_address = 0;
    std::uint64_t worst_bytes = 0;
    std::uint64_t worst_shown_bytes = 0;
};

/// Owners that keep less are not told.
inline constexpr std::uint64_t kLeastKeptBytes = 64UL << 10U;

struct BinaryLeaks {
    DumpFacts dump;
    std::uint64_t examined = 0;          ///< processes that keep kLeastKeptBytes or more
    std::uint64_t examined_others = 0;   ///< tables, modules and persistent terms likewise
    std::uint64_t total = 0;             ///< of these, with pinned or garbage bytes
    std::vector<BinaryLeakLine> owners;  ///< most pinned and garbage bytes first
    NodeSweepCounts node;
    std::uint64_t undecoded_messages = 0;
    std::uint64_t unreadable = 0;
    ProcessesRead read;
};

/// Reads the off-heap lists of all processes, all terms of those that keep much, and what no
/// process holds. Memory: 80 bytes for each entry of the list of one process, and 160 for each
/// object of it that refers to a binary, 32 for each of a table: kLimit where that is more than the
/// limit.
Result<BinaryLeaks> binary_leaks(Dump& dump, const std::string& file,
                                 const BinariesOptions& options);

}  // namespace beamdump::query
