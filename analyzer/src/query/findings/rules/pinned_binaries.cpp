#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/holders/binaries.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Of the binaries that terms show a part of: the rest is three times as much.
constexpr std::uint64_t kLittleShown = 25;
/// Processes whose sums are told.
constexpr std::uint64_t kMostHolders = 1000;

}  // namespace

Result<RuleAnswer> pinned_binaries_rule(NodeFacts& facts) {
    const auto& totals = facts.dump().trailer().totals();
    RuleAnswer answer;
    if (totals.has_binary_bytes() && totals.binary_bytes() < kLargeBytes) {
        return answer;
    }
    if (!facts.full()) {
        answer.left_to_full = true;
        answer.left_out = "reads the terms of all processes that hold binaries";
        return answer;
    }
    BinariesOptions query;
    query.limit = kMostHolders;
    query.limits = facts.options().limits;
    query.progress = facts.options().progress;
    ASSIGN_OR_RETURN(const auto leaks, binary_leaks(facts.dump(), facts.file(), query));
    facts.tell_read(leaks.read);
    std::uint64_t binaries = 0;
    std::uint64_t kept = 0;
    std::uint64_t pinned = 0;
    for (const auto& leak : leaks.owners) {
        binaries += leak.partial_binaries;
        kept += leak.partial_bytes;
        pinned += leak.pinned_bytes;
    }
    const auto shown = percent_of(kept - pinned, kept);
    if (pinned < kLargeBytes || shown > kLittleShown) {
        return answer;
    }
    const auto& most = leaks.owners.front();
    const auto holder = holder_name(most.owner);
    Finding finding;
    finding.sentence = fmt::format("{} ({}) {} kept by terms that show {}% of them, most by {}.",
                                   counted(binaries, "binary", "binaries"), bytes_text(kept),
                                   binaries == 1 ? "is" : "are", shown,
                                   holder.empty() ? process_with_name(most.owner.process) : holder);
    finding.command = facts.command("binaries", {"--leaks"});
    finding.figures = {
        {"binaries", binaries},
        {"kept_bytes", kept},
        {"pinned_bytes", pinned},
        {"shown_percent", shown},
        holder.empty() ? Figure{"process", most.owner.process.pid} : Figure{"holder", holder}};
    finding.values = {"pid", "binary", "size_bytes"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
