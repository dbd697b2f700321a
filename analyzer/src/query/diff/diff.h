#pragma once

#include "query/activity/history.h"
#include "query/diff/diff_source.h"
#include "query/facts/process_starts.h"
#include "query/process/process_line.h"

#include <libdump/base/error.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// How many things of a container appeared and went from the first dump to the last.
struct Turnover {
    std::string container;
    std::uint64_t appeared = 0;
    std::uint64_t gone = 0;
};

/// A section of a comparison.
struct DiffSection {
    const SectionKind* kind = nullptr;
    std::vector<bool> has;    ///< by dump: whether it has the section
    std::vector<bool> whole;  ///< ... with all its things
    /// The sums of all things together.
    std::array<std::optional<Series>, kMeasures.size()> totals;
    std::uint64_t things = 0;    ///< in any dump
    std::uint64_t appeared = 0;  ///< in the last dump with the section, not in the first
    std::uint64_t gone = 0;      ///< the other way round
    std::uint64_t common = 0;    ///< in both
    std::uint64_t grown = 0;     ///< of these, by the measure that they are sorted by
    std::uint64_t shrunk = 0;
    std::uint64_t changed = 0;              ///< of these, replaced by another version
    std::vector<ThingChange> grown_most;    ///< also those that appeared; most grown first
    std::vector<ThingChange> gone_most;     ///< largest first
    std::vector<ThingChange> changed_most;  ///< by key
    /// The containers of its kind with any, the largest sum first.
    std::vector<Turnover> turnover;
    std::uint64_t turnover_count = 0;  ///< of these, listed or not

    /// Whether two dumps can be compared.
    [[nodiscard]] bool compared() const { return std::ranges::count(has, true) > 1; }
};

struct DumpsDiff {
    std::vector<DumpFacts> dumps;
    std::vector<std::optional<std::int64_t>> times_us;
    bool same_run = true;
    std::optional<ProcessStarts> starts;  ///< of processes, from the first dump to the last
    /// What beamdump-watch read from the first dump on, where the last one has it.
    std::optional<History> history;
    std::vector<DiffSection> sections;
    /// Things of the sections that are ranked, whose growth is kLeastShare or more of what the node
    /// has at the end, steadily growing ones first, then by that share.
    std::vector<ThingChange> growth;
    std::optional<std::uint64_t> memory_bytes;  ///< of the node, or the process, in the last dump
    /// Where one process is compared: what each dump that has it says of it.
    std::vector<std::optional<ProcessLine>> process;
    bool withheld = false;         ///< ... its terms are not in one of these, or not shown
    std::uint64_t unreadable = 0;  ///< ... places whose words are not here, in all dumps
    ProcessesRead read;

    /// What a check fails for: steady growth; of two dumps, where none is told, any of `growth`.
    [[nodiscard]] bool has_growth() const;
};

inline constexpr double kLeastShare = 0.01;

/// A dump or an export to compare, under the name that the user gave.
struct DiffInput {
    Dump* dump = nullptr;  // non-owning
    std::string file;
    const ExportFile* exported = nullptr;  ///< instead of a dump; non-owning
};

/// What is known of all dumps before anything is compared.
DiffContext make_context(const std::vector<DiffInput>& inputs, const DiffOptions& options);

/// The head of the answer about them.
DumpsDiff begin_diff(const DiffContext& context);

/// Compares dumps, the earliest first; two at least. Things are found again by their keys
/// (docs/diff.md). Memory: the things of one section (ThingTable), not the dumps' sizes.
Result<DumpsDiff> diff_dumps(const std::vector<DiffInput>& inputs, const DiffOptions& options);

}  // namespace beamdump::query
