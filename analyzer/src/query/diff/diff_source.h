#pragma once

#include "query/diff/atom_names.h"
#include "query/diff/series.h"
#include "query/diff/thing_table.h"
#include "query/exported/export_file.h"
#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/processes/group_names.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump_form.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

struct DiffOptions {
    std::uint64_t limit = 20;  ///< things of each list; 0: all
    bool sensitive = false;    ///< also terms of processes flagged sensitive
    bool terms = false;        ///< crash dumps were converted with their terms
    InputLimits limits = {};
    ReadProgress progress = {};
};

/// One of the compared dumps.
struct ComparedDump {
    Dump* dump = nullptr;                  // non-owning; null: an export
    const ExportFile* exported = nullptr;  // non-owning; null: a dump
    DumpFacts facts;
    NodeRun run;
    bool of_crash_dump = false;
    DumpForm form;                          ///< of an export: that of the dump it was made from
    bool whole = true;                      ///< neither truncated nor of a truncated text
    std::optional<GroupNames> labels = {};  ///< of processes, once they were read
};

/// What sources know of all dumps.
struct DiffContext {
    std::vector<ComparedDump> dumps;
    std::vector<std::optional<std::int64_t>> times_us;
    /// All are of one run of one node: pids and references name the same things.
    bool same_run = true;
    bool any_crash_dump = false;
    bool any_export = false;
    /// Processes' labels are known of all dumps that have any.
    [[nodiscard]] bool has_labels() const {
        return !any_export && (!any_crash_dump || options.terms);
    }
    std::optional<AtomNames> atom_names = {};  ///< of all dumps, once they were read
    const DiffOptions& options;
    /// Which processes' terms were read, added up over the dumps.
    ProcessesRead read = {};
};

/// A section of a comparison: what its things are called, and what is counted of them. The name of
/// a measure is that of its JSON member; empty: its things have none. "diff.NAME.MEASURE" stands
/// for it in query/facts/layout_sources.cpp.
struct SectionKind {
    std::string_view name;   ///< in JSON
    std::string_view title;  ///< in the text
    std::string_view thing;
    std::string_view size = {};     ///< bytes
    std::string_view count = {};    ///< of what is in a thing
    std::string_view members = {};  ///< things with one key
    std::string_view appeared = "new";
    std::string_view gone = "gone";
    std::string_view changed = "reloaded";
    /// What its containers are called, if things that appeared and went are also counted by these.
    /// Only within one run.
    std::string_view turnover_by = {};
    Measure sorted_by = Measure::kSize;  ///< things that grew
    /// Its growth is also listed with that of all sections: by its size, and its members' number.
    bool ranked = false;
    bool members_ranked = false;
    /// The section that has its things' containers: a container is not listed where one of its
    /// parts has half of its growth.
    std::string_view container = {};

    [[nodiscard]] std::string_view name_of(Measure measure) const {
        return measure == Measure::kSize ? size : measure == Measure::kCount ? count : members;
    }
};

/// A part of a thing, with its count in all dumps.
struct ChangedPart {
    std::string name;
    Series count;
};

/// A thing that changed.
struct ThingChange {
    const SectionKind* kind = nullptr;
    std::size_t number = 0;  ///< in the table
    std::string key;
    std::string title;  ///< what the text calls it
    std::vector<std::pair<std::string, std::string>> details;
    std::vector<bool> in;  ///< dumps that have it
    bool appeared = false;
    bool gone = false;
    bool changed = false;
    std::array<std::optional<Series>, kMeasures.size()> series;
    std::vector<ChangedPart> parts;
    /// Its growth as a part of all of the node's memory, or of the section's things, at the end.
    std::optional<double> share;
    Measure ranked_by = Measure::kSize;  ///< with the largest share
    std::optional<bool> steady;          ///< of that measure

    [[nodiscard]] const std::optional<Series>& of(Measure measure) const {
        return series[static_cast<std::size_t>(measure)];
    }
    /// Nothing where the value is not known.
    void add_detail(std::string_view name, const std::optional<std::string>& value) {
        if (value) {
            details.emplace_back(name, *value);
        }
    }
};

/// Where a section's things come from.
struct DiffSource {
    SectionKind kind;
    /// Begins the dump and adds its things. A dump that lacks the section is not begun.
    Result<void> (*read)(DiffContext& context, std::size_t dump, ThingTable& table) = nullptr;
    /// Adds titles, details and parts to the things that are shown.
    Result<void> (*describe)(DiffContext& context, const ThingTable& table,
                             std::span<ThingChange*> things) = nullptr;
};

}  // namespace beamdump::query
