#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// Processes that wait for each other wait until their calls time out: a cycle of any length is
/// told.
Result<RuleAnswer> call_cycle_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!facts.full() && scan->in_call.count < 2) {
        return answer;
    }
    answer.left_out = facts.callers_left_out();
    answer.left_to_full = answer.left_out.has_value();
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& cycle : waits->cycles) {
        if (answer.findings.size() == kMostOfARule) {
            break;
        }
        constexpr std::size_t kNamed = 4;
        const auto& processes = cycle.processes;
        std::string names;
        for (std::size_t i = 0; i < processes.size() && i < kNamed; ++i) {
            names += (i == 0 ? "" : ", ") + process_with_name(processes[i]);
        }
        Finding finding;
        finding.sentence = fmt::format(
            "{} in a cycle of calls for each other: {}{}{}.",
            counted(processes.size(), "process waits", "processes wait"), names,
            processes.size() > kNamed ? " and others" : "",
            cycle.behind == 0 ? std::string()
                              : fmt::format("; {} behind them",
                                            counted(cycle.behind, "caller waits", "callers wait")));
        finding.command = facts.command("waits");
        finding.figures = {{"processes", processes.size()},
                           {"process", processes.front().pid},
                           {"callers", cycle.behind}};
        finding.values = {"pid", "frames", "monitors", "reference"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
