#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/crash/import/lazy_terms.h>
#include <libdump/crash/text/crash_dump.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::crash {

/// What of a crash dump goes into the dump that is made of it: always what is known of the node and
/// of each process; heaps, stacks and messages as chosen.
struct ConvertChoice {
    enum class Heaps : std::uint8_t { kNone, kOne, kOneLazily, kAll };
    /// kOneLazily: of one process's, its stack, dictionary and messages go in; the rest is read
    /// later.
    Heaps heaps = Heaps::kAll;
    /// For kOne and kOneLazily: a pid or a registered name, as parse_process_name() takes them.
    /// Where no process has it, the heap of none goes in.
    std::string process;
    /// Also the sections that have no records of their own, as text.
    bool other_sections = true;
    int level = 1;  ///< zstd's
};

struct ConvertOutcome {
    std::uint64_t processes = 0;
    std::uint64_t malformed_lines = 0;
    /// What could not be read: where the text breaks off, malformed lines. A sentence each.
    std::vector<std::string> missing;
    /// For kOneLazily: the heap of that process, and all that its terms refer to. The CrashDump
    /// must outlive it.
    std::unique_ptr<LazyTerms> lazy_terms;
};

/// Writes a dump of what a crash dump says. Words are those of the term scheme of the node's own
/// release at their own addresses; what the text lacks is left out of the records. Memory: what
/// CrashDump holds, the names in the text, and some 100 MiB; more goes to temporary files. `told`:
/// called now and then with how many bytes of the text, of all of them, were read.
Result<ConvertOutcome> convert(const CrashDump& dump, std::unique_ptr<ByteSink> sink,
                               const ConvertChoice& choice, const CrashDump::Progress& told = {});

}  // namespace beamdump::crash
