#include "query/diff/heap_diff.h"

#include "query/diff/diff_source.h"
#include "query/diff/growth.h"
#include "query/diff/section.h"
#include "query/heap/heap.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

/// Lines of each list of a report that is compared; with as many, more may have been left out.
constexpr std::uint64_t kHeapLines = 1000;

/// A section of what is compared of a process: its things in one report.
struct HeapSection {
    SectionKind kind;
    void (*add)(const HeapReport& report, std::size_t dump, ThingTable& table) = nullptr;
};

std::uint64_t bytes_of(const HeapReport& report, std::uint64_t words) {
    constexpr std::uint64_t kMost = 1ULL << 60U;
    return std::min(words, kMost / 8) * report.dump.word_bytes;
}

/// A root's name that does not depend on how deep the stack is. Messages are all one.
std::string root_key(const RootLine& root) {
    if (root.kind == RootKind::kMessage) {
        return "messages";
    }
    return root.kind == RootKind::kStack && !root.is_state
               ? fmt::format("y({}) of {}", root.index, root.name)
               : root_text(root);
}

void add_root_kinds(const HeapReport& report, std::size_t dump, ThingTable& table) {
    table.begin(dump);
    for (const RootGroup& group : report.roots) {
        table.add(root_kind_text(group.kind),
                  {.size = bytes_of(report, group.shared_words), .members = group.total});
    }
}

void add_roots(const HeapReport& report, std::size_t dump, ThingTable& table) {
    const bool whole = std::ranges::all_of(
        report.roots, [](const RootGroup& group) { return group.lines.size() == group.total; });
    table.begin(dump, whole);
    for (const RootGroup& group : report.roots) {
        // Where there are more messages than lines the sum would be that of the largest only.
        if (group.kind == RootKind::kMessage && group.lines.size() != group.total) {
            continue;
        }
        for (const RootLine& root : group.lines) {
            table.add(root_key(root),
                      {.size = root.whole ? std::optional(bytes_of(report, root.shared_words))
                                          : std::nullopt},
                      root_kind_text(group.kind));
        }
    }
}

void add_counts(const HeapReport& report, const std::vector<KindCount>& counts, std::size_t dump,
                ThingTable& table) {
    const bool whole = counts.size() < kHeapLines;
    table.begin(dump, whole);
    for (const KindCount& count : counts) {
        // What "others" are depends on what is listed.
        if (whole || count.name != "others") {
            table.add(count.name,
                      {.size = bytes_of(report, count.words), .members = count.objects});
        }
    }
}

void add_kinds(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.kinds, dump, table);
}

void add_tags(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.tags, dump, table);
}

void add_key_sets(const HeapReport& report, std::size_t dump, ThingTable& table) {
    add_counts(report, report.key_sets, dump, table);
}

void add_paths(const HeapReport& report, std::size_t dump, ThingTable& table) {
    // A term that only wraps its largest part has no line of its own.
    table.begin(dump, false);
    for (const LargeTermLine& term : report.largest) {
        table.add(term.path.empty() ? term.root
                                    : fmt::format("{}, {}", term.root, fmt::join(term.path, ", ")),
                  {.size = bytes_of(report, term.words)});
    }
}

void add_binaries(const HeapReport& report, std::size_t dump, ThingTable& table) {
    table.begin(dump);
    table.add(
        "reference-counted binaries",
        {.size = report.unsized_binaries == 0 ? std::optional(report.binary_bytes) : std::nullopt,
         .members = std::max<std::uint64_t>(report.binaries, 1)});
}

constexpr std::array<HeapSection, 7> kSections = {{
    {{.name = "heap_roots",
      .title = "Roots",
      .thing = "ROOT",
      .size = "bytes",
      .members = "roots",
      .ranked = true,
      .container = "heap_root_kinds"},
     add_roots},
    {{.name = "heap_root_kinds",
      .title = "Roots by kind",
      .thing = "KIND",
      .size = "bytes",
      .members = "roots",
      .ranked = true},
     add_root_kinds},
    {{.name = "heap_paths", .title = "Paths to large terms", .thing = "PATH", .size = "bytes"},
     add_paths},
    {{.name = "heap_kinds",
      .title = "Terms by kind",
      .thing = "KIND",
      .size = "bytes",
      .members = "objects"},
     add_kinds},
    {{.name = "heap_tags",
      .title = "Tuples by tag",
      .thing = "TAG",
      .size = "bytes",
      .members = "objects"},
     add_tags},
    {{.name = "heap_key_sets",
      .title = "Maps by their keys",
      .thing = "KEYS",
      .size = "bytes",
      .members = "objects"},
     add_key_sets},
    {{.name = "heap_binaries",
      .title = "Binaries that its terms keep",
      .thing = "WHAT",
      .size = "bytes"},
     add_binaries},
}};

std::span<const HeapSection> heap_sections() {
    return kSections;
}

using Reports = std::vector<std::optional<HeapReport>>;

Result<Reports> read_reports(DiffContext& context, const std::string& process) {
    HeapOptions options;
    options.limit = kHeapLines;
    options.sensitive = context.options.sensitive;
    options.limits = context.options.limits;
    Reports reports;
    std::optional<Error> missing;
    for (const ComparedDump& dump : context.dumps) {
        auto report = heap_report(*dump.dump, dump.facts.file, process, options);
        if (!report && report.error().code != ErrorCode::kNotFound) {
            return std::unexpected(std::move(report.error()));
        }
        if (report) {
            reports.emplace_back(std::move(*report));
        } else {
            reports.emplace_back();
            missing = std::move(report.error());
        }
    }
    const auto found =
        std::ranges::count_if(reports, [](const auto& one) { return one.has_value(); });
    if (found < 2) {
        return std::unexpected(std::move(*missing));
    }
    return reports;
}

/// The initial call that two dumps say of one pid differs: the pid was used again.
Result<void> check_identity(const Reports& reports, const std::string& process) {
    const HeapReport* known = nullptr;
    for (const auto& report : reports) {
        if (!report || !report->line.initial_call) {
            continue;
        }
        if (known != nullptr && known->line.pid == report->line.pid &&
            known->line.initial_call != report->line.initial_call) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("{} is {} in {} and {} in {}: not one process", process,
                                    *known->line.initial_call, known->dump.file,
                                    *report->line.initial_call, report->dump.file));
        }
        known = &*report;
    }
    return {};
}

}  // namespace

Result<DumpsDiff> diff_heaps(const std::vector<DiffInput>& inputs, const std::string& process,
                             const DiffOptions& options) {
    DiffContext context = make_context(inputs, options);
    if (!context.same_run && parse_process_name(process).owner_id) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--heap {}: the dumps are of different runs, in which a pid names "
                                "different processes; give a registered name",
                                process));
    }
    ASSIGN_OR_RETURN(const auto reports, read_reports(context, process));
    RETURN_IF_ERROR(check_identity(reports, process));
    DumpsDiff diff = begin_diff(context);
    for (const auto& report : reports) {
        diff.process.push_back(report ? std::optional(report->line) : std::nullopt);
        diff.withheld |= report && report->withheld;
        diff.unreadable += report ? report->unreadable : 0;
        if (report && report->line.memory_bytes) {
            diff.memory_bytes = report->line.memory_bytes;
        }
    }
    GrowthList growth(context, diff.memory_bytes);
    for (const HeapSection& section : heap_sections()) {
        ThingTable table(reports.size());
        for (std::size_t dump = 0; dump < reports.size(); ++dump) {
            if (reports[dump] && !reports[dump]->withheld) {
                section.add(*reports[dump], dump, table);
            }
        }
        diff.sections.push_back(make_section(context, section.kind, table));
        std::ranges::move(growth.of(section.kind, table), std::back_inserter(diff.growth));
    }
    GrowthList::sort(diff.growth);
    return diff;
}

}  // namespace beamdump::query
