#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Of the reductions of all processes. Servers under load share their work between many.
constexpr std::uint64_t kMostOfTheWork = 60;
/// A processor's work of half a minute to some minutes: what starts a node has done less.
constexpr std::uint64_t kMuchWork = 10'000'000'000;

}  // namespace

Result<RuleAnswer> hot_process_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!scan->busiest) {
        return answer;
    }
    const auto& [reductions, row] = *scan->busiest;
    const std::uint64_t share = percent_of(reductions, scan->reductions);
    if (reductions < kMuchWork || share < kMostOfTheWork) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(row));
    // What it did once is no problem of now.
    if (line.status != "running" && line.status != "runnable") {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "{}% of the reductions of all processes ({} of {}) are those of one process, {}, which is "
        "{}.",
        share, count_text(reductions), count_text(scan->reductions), process_with_name(line),
        *line.status);
    finding.command = facts.command("backtrace", {pid_word(line)});
    finding.figures = {{"reductions", reductions},
                       {"all_reductions", scan->reductions},
                       {"share_percent", share},
                       {"process", line.pid}};
    finding.values = {"pid", "reductions", "status", "registered_name"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
