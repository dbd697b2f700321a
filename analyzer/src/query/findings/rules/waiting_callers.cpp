#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Fewer wait for a moment in any pool of workers under load.
constexpr std::uint64_t kManyBehindOne = 20;
/// Where it is not looked for whom they wait: far more than the workers of some pools.
constexpr std::uint64_t kManyInCalls = 200;

std::string where_it_waits(const WaitedFor& target) {
    if (target.in_cycle) {
        return ", which waits in a cycle";
    }
    return target.waits_for ? ", which waits for " + *target.waits_for : "";
}

}  // namespace

Result<RuleAnswer> waiting_callers_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const std::uint64_t callers = scan->in_call.count;
    if (!facts.full() && callers < kManyBehindOne) {
        return answer;
    }
    if (!facts.full() && !scan->in_call.all()) {
        answer.left_out = fmt::format("{} processes are in a call, too many to read for whom",
                                      count_text(callers));
        if (callers >= kManyInCalls) {
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
    ASSIGN_OR_RETURN(const auto* waits, facts.waits());
    for (const auto& target : waits->waited_for) {
        if (target.behind < kManyBehindOne) {
            break;
        }
        Finding finding;
        finding.sentence =
            fmt::format("{} callers wait for {}{}.", count_text(target.behind),
                        target.process ? process_with_name(*target.process) : target.name,
                        where_it_waits(target));
        finding.command = facts.command("waits");
        finding.figures = {{"callers", target.behind}, {"process", target.name}};
        finding.values = {"pid", "frames", "monitors", "reference"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
