#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/every_process.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// As much as everything else.
constexpr std::uint64_t kMostOfTheNode = 50;
constexpr std::uint64_t kMostOfTheBinaries = 50;

/// A process, and the bytes of the binaries that it keeps, as the VM counts them for its
/// collections (erl_process.h, off_heap.overhead and bin_old_vheap): at the last one, and since.
struct Holder {
    std::uint64_t bytes = 0;
    ProcessLine line;
};

/// The process that keeps most; none where there are too many to read each, or none keeps half.
Result<std::optional<Holder>> holder_of_most(NodeFacts& facts, std::uint64_t all_bytes) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    if (scan->processes > facts.options().most_callers) {
        return std::nullopt;
    }
    Holder most;
    // How much they keep is no content of them.
    RETURN_IF_ERROR(visit_processes(
        facts.dump(), {.sensitive = true}, [&most](OpenedProcess& process) -> Result<void> {
            const auto& told = process.run.process;
            const auto words =
                told.off_heap_overhead_words() + told.old_binary_virtual_heap_words();
            if (words * kWordBytes > most.bytes) {
                most = {words * kWordBytes, process.line};
            }
            return {};
        }));
    return percent_of(most.bytes, all_bytes) >= kMostOfTheBinaries ? std::optional(most)
                                                                   : std::nullopt;
}

}  // namespace

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
    ASSIGN_OR_RETURN(const auto holder, holder_of_most(facts, bytes));
    Finding finding;
    finding.sentence = fmt::format(
        "{}% of the node's memory ({} of {}) is {}{}.", share, bytes_text(bytes),
        bytes_text(node_bytes),
        counted(totals.binaries(), "reference-counted binary", "reference-counted binaries"),
        holder ? fmt::format(", of which {} keeps about {}", process_with_name(holder->line),
                             bytes_text(holder->bytes))
               : std::string());
    finding.command = holder ? facts.command("binaries", {"--leaks"}) : facts.command("binaries");
    finding.figures = {{"memory_bytes", bytes},
                       {"all_memory_bytes", node_bytes},
                       {"share_percent", share},
                       {"binaries", totals.binaries()}};
    finding.values = {"summary.memory.binaries", "summary.counts.binaries", "categories"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
