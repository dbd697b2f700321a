#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

/// As much as all others together.
constexpr std::uint64_t kMostOfTheMemory = 50;

Result<RuleAnswer> process_memory_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (scan->largest.empty()) {
        return answer;
    }
    const auto& [bytes, row] = scan->largest.front();
    const std::uint64_t share = percent_of(bytes, scan->memory_bytes);
    if (bytes < kLargeBytes || share < kMostOfTheMemory) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(row));
    Finding finding;
    finding.sentence =
        fmt::format("{}% of the memory of processes ({} of {}) is that of one process, {}.", share,
                    bytes_text(bytes), bytes_text(scan->memory_bytes), process_with_name(line));
    // Of a void process the dump has only what its structure says.
    if (line.void_reason) {
        finding.sentence += " The dump does not have its memory.";
    }
    finding.command = facts.command(line.void_reason ? "process" : "heap", {pid_word(line)});
    finding.figures = {{"memory_bytes", bytes},
                       {"all_memory_bytes", scan->memory_bytes},
                       {"share_percent", share},
                       {"process", line.pid}};
    finding.values = {"pid", "memory", "registered_name"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
