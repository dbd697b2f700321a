#pragma once

#include "query/facts/dump_facts.h"

#include <libdump/base/error.h>
#include <libdump/format/atom_limit.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

enum class AtomSort : std::uint8_t { kNewest, kCount, kBytes, kName };

/// newest, count, bytes or name. kUsage.
Result<AtomSort> parse_atom_sort(std::string_view name);

struct AtomsOptions {
    bool list = false;  ///< each atom by itself, instead of groups
    /// Nothing: groups by count, atoms newest first.
    std::optional<AtomSort> sort;
    std::vector<std::string> filters;  ///< texts that an atom must contain
    std::uint64_t limit = 20;          ///< 0: all
};

/// Atoms whose texts are the same but for their digits.
struct AtomGroup {
    std::string name;     ///< as Erlang prints it, digits as N: param_N; of one atom, its own
    std::string pattern;  ///< the same, of one atom too
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  ///< of text, UTF-8
    std::uint32_t newest_index = 0;
    std::string newest;
};

struct AtomLine {
    std::uint32_t index = 0;
    std::string text;  ///< as Erlang prints it
    std::uint64_t bytes = 0;
};

struct AtomReport {
    DumpFacts dump;
    std::optional<std::uint64_t> count;  ///< erlang:system_info(atom_count)
    /// erlang:system_info(atom_limit): of the command line (+t), or the default of all releases.
    std::optional<std::uint64_t> limit;
    bool limit_is_default = false;
    std::uint64_t named = 0;       ///< atoms whose text is in the dump
    std::uint64_t text_bytes = 0;  ///< of these
    /// Set where a crash dump has no section `=atoms`: why. Of the atoms, those that its terms name
    /// are not listed: they have no numbers, and how many are met depends on what is read.
    std::optional<std::string> absent_because;
    /// Atoms are numbered as they were created.
    bool in_order = true;
    std::uint64_t matching = 0;
    std::uint64_t groups = 0;     ///< of the atoms that match
    std::uint64_t ungrouped = 0;  ///< atoms in groups beyond kMaxAtomGroups, the oldest ones
    std::vector<AtomGroup> largest_groups;
    std::vector<AtomLine> atoms;
};

/// Groups that are told apart, from the newest atom back.
inline constexpr std::size_t kMaxAtomGroups = 1U << 20U;

/// As AtomReport has it.
AtomLimit atom_limit(const Dump& dump);

/// Reads all atoms. Memory: the different groups, at most kMaxAtomGroups, or twice `limit` atoms.
Result<AtomReport> atom_report(Dump& dump, const std::string& file, const AtomsOptions& options);

/// The text with each run of decimal digits as one N.
std::string folded_digits(std::string_view text);

}  // namespace beamdump::query
