#include "query/diff/heap/heap_diff.h"

#include "query/diff/compared_dumps.h"
#include "query/diff/growth.h"
#include "query/diff/heap/heap_sections.h"
#include "query/diff/section.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace beamdump::query {

namespace {

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
    const auto found = std::ranges::count_if(reports, &std::optional<HeapReport>::has_value);
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
