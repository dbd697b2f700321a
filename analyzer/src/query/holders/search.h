#pragma once

#include "query/facts/dump_facts.h"
#include "query/holders/node_sweep.h"
#include "query/holders/pattern.h"
#include "query/holders/process_sweep.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

struct FoundTerm {
    TermOwner owner;
    TermPlace place;
    std::uint64_t words = 0;  ///< as erts_debug:size/1; of a term that is one word, 0
    std::string text;         ///< its beginning
};

struct SearchOptions {
    std::optional<Pattern> pattern;  ///< nothing: `text`
    std::string text;                ///< in atoms, binaries and lists of characters; not empty
    std::size_t term_bytes = 80;     ///< of each term's text; 0: all
    std::uint64_t limit = 20;        ///< terms that are told; 0: all
    bool stop_at_limit = false;      ///< search no further than to the last of these
    bool sensitive = false;
    InputLimits limits;
    ReadProgress progress = {};
    /// Told the first terms as they are found.
    std::function<void(const FoundTerm&)> found;
};

struct SearchAnswer {
    std::uint64_t found = 0;                 ///< terms, each once in a process, table or module
    bool stopped = false;                    ///< at the limit: there may be more
    std::uint64_t processes = 0;             ///< that they are in
    std::uint64_t tables = 0;                ///< ETS tables
    std::uint64_t modules = 0;               ///< in whose literals they are
    bool persistent_terms = false;           ///< ... or some of them
    std::vector<std::string> unknown_atoms;  ///< of the pattern: not in the node
    std::uint64_t partial_binaries = 0;  ///< searched for text: the dump has only their beginning
    std::uint64_t lost_binaries = 0;     ///< of these, with fewer bytes than were to be captured
    std::uint64_t undecoded_messages = 0;
    std::uint64_t unreadable = 0;
    ProcessesRead read;
    NodeSweepCounts node;
};

/// Searches all terms of all processes, of the rows of ETS tables and of modules' literals. Memory:
/// ProcessSweep's.
Result<SearchAnswer> search_terms(Dump& dump, const SearchOptions& options);

}  // namespace beamdump::query
