#pragma once

#include "query/facts/dump_facts.h"
#include "query/heap/heap_roots.h"
#include "query/process/process_line.h"
#include "query/term/term_text.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// A root with the sizes of its term, in words.
struct RootLine {
    RootKind kind = RootKind::kOther;
    std::uint64_t frame = 0;  ///< stack
    std::uint64_t index = 0;  ///< register or message
    std::string name;         ///< stack: the frame's function; other: the process's field
    bool is_state = false;    ///< stack: the state of a gen_server
    std::optional<TermText> key;
    TermText term;
    std::uint64_t flat_words = 0;    ///< erts_debug:flat_size/1; saturates at all ones
    std::uint64_t shared_words = 0;  ///< erts_debug:size/1
    bool whole = true;               ///< false: part of the term is not readable
};

/// The roots of a kind: count, sum of their shared sizes, and the listed ones.
struct RootGroup {
    RootKind kind = RootKind::kOther;
    std::uint64_t total = 0;
    std::uint64_t shared_words = 0;
    std::vector<RootLine> lines;
};

/// Use of a part of the process's memory, in words.
struct AreaUse {
    std::string name;  ///< heap, old_heap, fragments
    std::optional<std::uint64_t> block_words;
    std::optional<std::uint64_t> used_words;
    /// Reached from a root. For a crash dump a lower bound, from the objects that it has; nullopt
    /// if the area is unknown.
    std::optional<std::uint64_t> live_words;
    std::optional<std::uint64_t> live_objects;  ///< cells and boxed objects
    std::optional<std::uint64_t> dead_words;    ///< the others in use; nullopt for crash dumps
};

struct KindCount {
    std::string name;
    std::uint64_t objects = 0;
    std::uint64_t words = 0;  ///< the objects' own
};

struct LargeTermLine {
    std::uint64_t words = 0;
    std::string root;
    std::vector<std::string> path;  ///< "element 4", "key sessions"...
    TermText term;
};

struct BinaryLine {
    std::uint64_t address = 0;
    std::optional<std::uint64_t> bytes;  ///< nullopt: the dump lacks the binary
    std::optional<std::uint64_t> references;
};

/// A term that no other object of the heap refers to, or words that are not a valid term.
struct TopLevelLine {
    std::string area;  ///< heap, old_heap, abandoned_heap, fragments, unplaced
    std::uint64_t address = 0;
    /// First reached through it, in address order; through a dead one, dead words only.
    std::uint64_t words = 0;
    bool dead = false;        ///< no root leads to it
    bool unreadable = false;  ///< `words` words that are not a valid term
    TermText term;
};

struct TopLevelTermList {
    std::uint64_t total = 0;
    // nullopt for crash dumps, which have only what the VM's own walk from the roots reached.
    std::optional<std::uint64_t> dead;
    std::optional<std::uint64_t> dead_words;  ///< of all dead terms
    std::uint64_t unreadable_words = 0;
    std::vector<TopLevelLine> lines;  ///< in address order, area by area
};

/// The report on a process's heap.
struct HeapReport {
    DumpFacts dump;
    ProcessLine line;
    std::optional<std::string> void_detail;
    bool withheld = false;  ///< flagged sensitive, or void

    bool reached_only = false;  ///< the dump lacks what nothing refers to, and some live terms
    std::vector<AreaUse> areas;
    /// For crash dumps: live in heap, old heap or fragments, unknown which.
    std::uint64_t unplaced_words = 0;
    std::uint64_t unplaced_objects = 0;
    std::optional<std::uint64_t> stack_words;
    /// Free words between heap and stack.
    std::optional<std::uint64_t> free_words;
    std::uint64_t literal_words = 0;  ///< of literals that the process refers to
    /// Estimated heap block after a major collection.
    std::optional<std::uint64_t> heap_words_after_major;

    std::vector<RootGroup> roots;
    std::uint64_t undecoded_messages = 0;
    std::vector<KindCount> kinds;
    std::vector<KindCount> tags;      ///< {user,_,_}
    std::vector<KindCount> key_sets;  ///< #{name,age}
    std::vector<LargeTermLine> largest;
    /// By retained size; only on request.
    std::optional<std::vector<LargeTermLine>> retained;
    std::optional<TopLevelTermList> terms;  ///< only on request
    std::uint64_t binaries = 0;             ///< distinct reference-counted ones
    std::uint64_t binary_bytes = 0;         ///< of those whose size is known
    std::uint64_t unsized_binaries = 0;     ///< those whose size the dump lacks
    std::vector<BinaryLine> largest_binaries;
    std::uint64_t unreadable = 0;  ///< places whose words are not here or are not a valid term
};

/// The root as text: "y(0) of frame 3", "x(1)", "dictionary key", "message 12", or a field's name.
std::string root_text(const RootLine& line);

struct HeapOptions {
    std::uint64_t limit = 20;     ///< lines of each list; 0: all roots, 1000 of the other lists
    std::size_t term_bytes = 80;  ///< of each term's text; 0: all
    bool sensitive = false;       ///< show a process flagged sensitive
    bool retained = false;        ///< also compute retained sizes
    bool terms = false;           ///< list the top-level terms in address order, dead ones too
    InputLimits limits;           ///< of tables
};

/// Sizes and liveness of all that the process's roots reach. The marks (3 bits for each word of the
/// pages that its terms lie in) and the tables of retained sizes take memory up to max_memory, and
/// beyond it unnamed files in TMPDIR or /var/tmp. Other memory: the lines, and that of nesting and
/// sharing (TermSizer).
Result<HeapReport> heap_report(Dump& dump, const std::string& file, std::string_view name,
                               const HeapOptions& options);

}  // namespace beamdump::query
