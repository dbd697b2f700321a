#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/tables/modules.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace beamdump::query {

namespace {

/// A crash dump tells the size of old code, not who runs it.
Result<RuleAnswer> of_crash_dump(NodeFacts& facts) {
    ModulesOptions options;
    options.applications = false;
    const RowQuery query{.sort = std::string(kModuleSort), .filters = {"instance=old"}, .limit = 1};
    ASSIGN_OR_RETURN(auto modules, list_modules(facts.dump(), facts.file(), query, options));
    RuleAnswer answer;
    answer.left_out = facts.text_cut_off();
    const auto matching = modules.list.matching();
    const auto code_bytes = modules.list.sum_of_matching("code_bytes");
    const auto rows = modules.list.take();
    if (rows.empty()) {
        return answer;
    }
    const auto name = cell_text(rows.front()[column_place(module_columns(), "name")]);
    Finding finding;
    finding.figures = {{"modules", matching}, {"module", name}};
    std::string bytes;
    if (code_bytes) {
        bytes = fmt::format(", {} of code", bytes_text(*code_bytes));
        finding.figures.push_back({"code_bytes", *code_bytes});
    }
    finding.sentence = fmt::format(
        "Old code of {} has not been purged{}; a crash dump does not tell which processes run it.",
        matching == 1 ? name
                      : fmt::format("{} and {}", name, counted(matching - 1, "other module")),
        bytes);
    finding.command = facts.command("modules", {"--old"});
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace

/// Old code that nobody runs is what each upgrade leaves; code that is run cannot be purged, and
/// loading the module once more ends its processes.
Result<RuleAnswer> old_code_rule(NodeFacts& facts) {
    if (is_of_crash_dump(facts.dump())) {
        return of_crash_dump(facts);
    }
    ASSIGN_OR_RETURN(const auto* old, facts.old_modules());
    RuleAnswer answer;
    if (old->empty()) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    ModulesOptions query;
    query.users = true;
    query.applications = false;
    query.sensitive = facts.options().sensitive;
    query.progress = facts.options().progress;
    if (!facts.full()) {
        query.rows = scan->in_old_code.rows;
        answer.left_to_full = true;
        answer.left_out =
            "looked at processes only whose current function is in a module that has "
            "old code";
    }
    ASSIGN_OR_RETURN(auto report, module_lines(facts.dump(), facts.file(), query));
    if (report.read) {
        facts.tell_read(*report.read);
    }
    std::erase_if(report.lines,
                  [](const auto& module) { return module.user_count.value_or(0) == 0; });
    std::ranges::stable_sort(report.lines, std::greater(), [](const auto& module) {
        return std::pair(module.user_count, module.code_bytes);
    });
    report.lines.resize(std::min<std::size_t>(report.lines.size(), kMostOfARule));
    for (const auto& module : report.lines) {
        const bool more = !facts.full() && !scan->in_old_code.all();
        Finding finding;
        finding.sentence = fmt::format(
            "Old code of {} is kept by {}{}.", module.name, more ? "at least " : "",
            counted(*module.user_count, "process that runs it", "processes that run it"));
        finding.command = facts.command("modules", {"--old", "--users"});
        finding.figures = {{"processes", *module.user_count}, {"module", module.name}};
        finding.values = {"frames", "code_bytes"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
