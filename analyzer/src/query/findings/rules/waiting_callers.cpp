#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Fewer wait for a moment in any pool of workers under load.
constexpr std::uint64_t kManyBehindOne = 20;
/// Where no process has so many behind it: far more than the workers of some pools.
constexpr std::uint64_t kManyInCalls = 200;

}  // namespace

/// Of a chain of processes that wait for each other the last is told, which waits for none; a cycle
/// is another rule's.
Result<RuleAnswer> waiting_callers_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const std::uint64_t callers = scan->in_call.count;
    if (!facts.full() && callers < kManyBehindOne) {
        return answer;
    }
    answer.left_out = facts.callers_left_out();
    answer.left_to_full = answer.left_out.has_value();
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& target : waits->waited_for) {
        if (target.behind < kManyBehindOne || answer.findings.size() == kMostOfARule) {
            break;
        }
        if (target.in_cycle || target.waits_for) {
            continue;
        }
        Finding finding;
        finding.sentence =
            fmt::format("{}{} callers wait for {}{}.", answer.left_out ? "At least " : "",
                        count_text(target.behind),
                        target.process ? process_with_name(*target.process) : target.name,
                        target.process ? place_of(*target.process) : "");
        finding.command = target.process ? facts.command("backtrace", {pid_word(*target.process)})
                                         : facts.command("waits");
        finding.figures = {{"callers", target.behind}, {"process", target.name}};
        finding.values = {"pid", "frames", "monitors", "reference"};
        answer.findings.push_back(std::move(finding));
    }
    if (answer.findings.empty() && waits->cycles.empty() && callers >= kManyInCalls) {
        Finding finding;
        finding.sentence =
            fmt::format("{} processes wait in a call for others.", count_text(callers));
        finding.command = facts.command("waits");
        finding.figures = {{"callers", callers}};
        finding.values = {"pid", "current_function"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
