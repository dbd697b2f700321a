#pragma once

#include "query/rows/row_list.h"

#include <libdump/base/error.h>
#include <libdump/format/atom_limit.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// What the rows of a list of atoms are. Groups: atoms whose texts are the same but for their
/// digits, or of which 1,000 or more begin or end with the same words.
enum class AtomRows : std::uint8_t { kGroups, kEach };

/// Places of the columns of atoms that are listed each by itself.
enum class AtomPlace : std::uint8_t { kIndex, kText, kBytes };

/// Places of the columns of groups.
enum class AtomGroupPlace : std::uint8_t {
    kName,  ///< as Erlang prints it: param_N, 'uid_*_x'; of one atom, its own text
    kCount,
    kShare,  ///< of the atoms whose text is known
    kBytes,  ///< of text, UTF-8
    kNewest,
    kNewestIndex,
};

std::span<const Column> atom_columns(AtomRows rows);

/// What they are sorted by, unless asked otherwise: each from the newest on, groups by count.
std::string_view atom_sort(AtomRows rows);

/// What a dump tells of all its atoms.
struct AtomCounts {
    std::optional<std::uint64_t> count;  ///< erlang:system_info(atom_count)
    /// erlang:system_info(atom_limit): of the command line (+t), or the default of all releases.
    std::optional<std::uint64_t> limit;
    bool limit_is_default = false;
    std::uint64_t named = 0;       ///< atoms whose text is in the dump
    std::uint64_t text_bytes = 0;  ///< of these
    /// Set where a crash dump has no section `=atoms`: why. Of the atoms, those that its terms name
    /// are not listed: they have no numbers, and how many are met depends on what is read.
    std::optional<std::string> absent_because;
    bool in_order = true;         ///< atoms are numbered as they were created
    std::uint64_t matching = 0;   ///< atoms that have the texts that were asked for
    std::uint64_t ungrouped = 0;  ///< of these, in groups beyond kMaxAtomGroups, the oldest ones
};

struct AtomsAnswer {
    AtomCounts counts;
    RowList list;
};

/// Groups that are told apart, from the newest atom back.
inline constexpr std::size_t kMaxAtomGroups = 1U << 20U;

/// As AtomCounts has it.
AtomLimit atom_limit(const Dump& dump);

/// Reads all atoms. A filter without a column is of the atoms' texts; the others are of the rows.
/// Memory: the different groups, at most kMaxAtomGroups, and what RowList holds.
Result<AtomsAnswer> list_atoms(Dump& dump, const std::string& file, AtomRows rows,
                               const RowQuery& query);

/// A cell that all rows of the list have.
std::string_view text_at(const Row& row, AtomGroupPlace place);
std::uint64_t number_at(const Row& row, AtomGroupPlace place);

/// The text with each run of decimal digits as one N.
std::string folded_digits(std::string_view text);

/// The names of the groups that an atom may be in with others: words of its text with folded digits
/// at the beginning and at the end, and * for what is between. Those with most words first.
std::vector<std::string> atom_patterns(std::string_view folded);

}  // namespace beamdump::query
