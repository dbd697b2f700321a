#pragma once

#include "query/heap/heap_roots.h"
#include "query/node/dump_facts.h"
#include "query/node/process_line.h"
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
    std::optional<TermText> key;
    TermText term;
    std::uint64_t flat_words = 0;    ///< erts_debug:flat_size/1; all ones: that or more
    std::uint64_t shared_words = 0;  ///< erts_debug:size/1
    bool whole = true;               ///< false: part of the term is not readable
};

/// The roots of a kind: how many, the sum of their shared sizes, and those that are listed.
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
    /// Reached from a root. Of a crash dump: of those that it has, a lower bound; nothing where it
    /// does not tell the area.
    std::optional<std::uint64_t> live_words;
    std::optional<std::uint64_t> live_objects;  ///< cells and boxed objects
    std::optional<std::uint64_t> dead_words;    ///< the others in use; nothing: a crash dump's
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
    std::optional<std::uint64_t> bytes;  ///< nothing: the dump lacks the binary
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
    // Nothing: a crash dump does not tell; it has what the VM's own walk from the roots met.
    std::optional<std::uint64_t> dead;
    std::optional<std::uint64_t> dead_words;  ///< of all dead terms
    std::uint64_t unreadable_words = 0;
    std::vector<TopLevelLine> lines;  ///< in address order, area by area
};

/// What a process's heap holds.
struct HeapReport {
    DumpFacts dump;
    ProcessLine line;
    std::optional<std::string> void_detail;
    bool withheld = false;  ///< flagged sensitive, or void

    bool of_crash_dump = false;
    std::vector<AreaUse> areas;
    /// Of a crash dump: live in heap, old heap or fragments, it does not tell in which.
    std::uint64_t unplaced_words = 0;
    std::uint64_t unplaced_objects = 0;
    std::optional<std::uint64_t> stack_words;
    /// Between heap and stack: used up, the heap is collected.
    std::optional<std::uint64_t> free_words;
    std::uint64_t literal_words = 0;  ///< of the node's literals that it refers to
    /// The heap block after a major collection of what is here.
    std::optional<std::uint64_t> heap_words_after_major;

    std::vector<RootGroup> roots;
    std::uint64_t undecoded_messages = 0;
    std::vector<KindCount> kinds;
    std::vector<KindCount> tags;      ///< {user,_,_}
    std::vector<KindCount> key_sets;  ///< #{name,age}
    std::vector<LargeTermLine> largest;
    /// By what would be freed with them; only where asked for.
    std::optional<std::vector<LargeTermLine>> retained;
    std::optional<TopLevelTermList> terms;  ///< only where asked for
    std::uint64_t binaries = 0;             ///< distinct reference-counted ones
    std::uint64_t binary_bytes = 0;         ///< of those whose size is known
    std::uint64_t unsized_binaries = 0;     ///< those whose size the dump lacks
    std::vector<BinaryLine> largest_binaries;
    std::uint64_t unreadable = 0;  ///< places whose words are not here or are not a valid term
};

/// The root's place: "y(0) of frame 3", "x(1)", "dictionary key", "message 12", or a field's name.
std::string root_text(const RootLine& line);

struct HeapOptions {
    std::uint64_t limit = 20;     ///< lines of each list; 0: all roots, 1000 of the other lists
    std::size_t term_bytes = 80;  ///< of each term's text; 0: all
    bool sensitive = false;       ///< show a process flagged sensitive
    bool retained = false;        ///< find out what would be freed if a term went away
    bool terms = false;           ///< list the top-level terms in address order, dead ones too
    InputLimits limits;           ///< of tables
};

/// Sizes and liveness of all that the process's roots reach. The marks (3 bits for each word of the
/// pages that its terms lie in) and the tables of retained sizes take memory up to max_memory, and
/// beyond it unnamed files in TMPDIR or /var/tmp. Memory besides: the lines, and what nesting and
/// sharing take (TermSizer).
Result<HeapReport> heap_report(Dump& dump, const std::string& file, std::string_view name,
                               const HeapOptions& options);

}  // namespace beamdump::query
