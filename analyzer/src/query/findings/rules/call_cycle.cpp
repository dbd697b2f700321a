#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// Processes that wait for each other wait until their calls time out; any cycle is told.
Result<RuleAnswer> call_cycle_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!facts.full()) {
        if (scan->in_call.count < 2) {
            return answer;
        }
        if (!scan->in_call.all()) {
            answer.left_out = fmt::format("{} processes are in a call, too many to read each",
                                          count_text(scan->in_call.count));
            return answer;
        }
    }
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& cycle : waits->cycles) {
        constexpr std::size_t kNamed = 4;
        std::string names;
        for (std::size_t i = 0; i < cycle.size() && i < kNamed; ++i) {
            names += (i == 0 ? "" : ", ") + process_with_name(cycle[i]);
        }
        Finding finding;
        finding.sentence = fmt::format("{} in a cycle of calls for each other: {}{}.",
                                       counted(cycle.size(), "process waits", "processes wait"),
                                       names, cycle.size() > kNamed ? " and others" : "");
        finding.command = facts.command("waits");
        finding.figures = {{"processes", cycle.size()}, {"process", cycle.front().pid}};
        finding.values = {"pid", "frames", "monitors", "reference"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
