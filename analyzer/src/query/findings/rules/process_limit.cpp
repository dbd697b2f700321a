#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// Of the limit: a node that may have 262,144 or a million, by default, has a tenth of them.
constexpr std::uint64_t kNearProcessLimit = 75;

Result<RuleAnswer> process_limit_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    if (!facts.dump().node().has_process_limit()) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell how many processes the node may have");
    }
    const std::uint64_t limit = facts.dump().node().process_limit();
    const auto full = percent_of(scan->processes, limit);
    RuleAnswer answer;
    if (full < kNearProcessLimit) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format("The process table is {}% full ({} of {} processes).", full,
                                   count_text(scan->processes), count_text(limit));
    finding.command = facts.command("processes", {"--group-by", "initial_call", "--sort", "count"});
    finding.figures = {
        {"processes", scan->processes}, {"process_limit", limit}, {"full_percent", full}};
    finding.values = {"pid", "process_limit"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
