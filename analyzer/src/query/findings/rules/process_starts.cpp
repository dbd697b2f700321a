#include "query/facts/process_starts.h"

#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

// Processes that end as soon as they were started, by what the node did while it was captured.

namespace beamdump::query {

namespace {

/// Fewer are too few to tell how much work each of them was.
constexpr std::uint64_t kLeastStarted = 1'000;
/// Starts and ends are more than half of the work of a node whose reductions, of all processes, are
/// fewer than twice those that its starts and ends took. A server that starts a process for each
/// request and hardly works for it does 469 for each on OTP 25.2.3 and 573 on 27.3.4.1, at 10,000
/// to 17,000 a second (testdata/workloads/serving.erl).
constexpr std::uint64_t kShareOfStarts = 2;
/// A node that uses less than a tenth of a processor has little to explain; one of a busy machine
/// may not get more.
constexpr std::uint64_t kPartsOfAProcessor = 10;

/// The kind of most processes that have hardly run yet.
struct StartKind {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t of = 0;
};

Result<std::optional<StartKind>> fresh_kind(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    std::map<std::string, std::uint64_t> kinds;
    for (const auto row : scan->fresh.rows) {
        ASSIGN_OR_RETURN(const auto line, facts.line(row));
        if (const auto& call =
                line.translated_initial_call ? line.translated_initial_call : line.initial_call) {
            ++kinds[*call];
        }
    }
    const auto most = std::ranges::max_element(kinds, {}, &decltype(kinds)::value_type::second);
    return most == kinds.end()
               ? std::optional<StartKind>()
               : std::optional(StartKind{most->first, most->second, scan->fresh.rows.size()});
}

}  // namespace

Result<RuleAnswer> process_starts_rule(NodeFacts& facts) {
    RuleAnswer answer;
    const auto starts = process_starts(facts.dump());
    const auto& meanwhile = facts.dump().trailer().meanwhile();
    if (!starts || !meanwhile.has_reductions() || !meanwhile.has_processor_ns()) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell how many processes were started meanwhile, and what "
                    "work the node did");
    }
    if (starts->count < kLeastStarted ||
        meanwhile.reductions() >= kShareOfStarts * ProcessScan::kStartReductions * starts->count ||
        meanwhile.processor_ns() * kPartsOfAProcessor < meanwhile.ran_ns()) {
        return answer;
    }
    const auto per_second = static_cast<std::uint64_t>(starts->per_second());
    const auto work = meanwhile.reductions() / starts->count;
    ASSIGN_OR_RETURN(const auto kind, fresh_kind(facts));
    Finding finding;
    finding.sentence = fmt::format(
        "{} processes are started a second, and end as soon as they have begun: the node did {} "
        "reductions for each of {}, and a process that does nothing takes {}.",
        count_text(per_second), work, count_text(starts->count), ProcessScan::kStartReductions);
    finding.figures = {
        {"started", starts->count}, {"per_second", per_second}, {"reductions_of_each", work}};
    if (kind) {
        finding.sentence +=
            fmt::format(" Of {} that had hardly run, {} {} {}.", count_text(kind->of),
                        count_text(kind->count), kind->count == 1 ? "is" : "are", kind->name);
        finding.figures.push_back({"kind", kind->name});
    }
    finding.command = facts.command("processes", {"--group-by", "initial_call"});
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
