#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// As much as everything else.
constexpr std::uint64_t kMostOfTheNode = 50;

Result<RuleAnswer> binary_memory_rule(NodeFacts& facts) {
    const auto& totals = facts.dump().trailer().totals();
    if (!totals.has_binary_bytes() || !totals.has_binaries()) {
        return fail(ErrorCode::kNotFound, "the dump does not tell the size of all binaries");
    }
    ASSIGN_OR_RETURN(const auto node_bytes, facts.node_bytes());
    RuleAnswer answer;
    const auto bytes = totals.binary_bytes();
    const auto share = percent_of(bytes, node_bytes);
    if (bytes < kLargeBytes || share < kMostOfTheNode) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format(
        "{}% of the node's memory ({} of {}) is {}.", share, bytes_text(bytes),
        bytes_text(node_bytes),
        counted(totals.binaries(), "reference-counted binary", "reference-counted binaries"));
    finding.command = facts.command("binaries");
    finding.figures = {{"memory_bytes", bytes},
                       {"all_memory_bytes", node_bytes},
                       {"share_percent", share},
                       {"binaries", totals.binaries()}};
    finding.values = {"summary.memory.binaries", "summary.counts.binaries", "categories"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
