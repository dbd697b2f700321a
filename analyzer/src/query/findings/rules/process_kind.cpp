#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/groups/process_groups.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace beamdump::query {

namespace {

/// More than a server with all of its applications has of any kind while it is idle: RabbitMQ and
/// ejabberd have 400 processes.
constexpr std::uint64_t kManyOfAKind = 1000;
constexpr std::uint64_t kMostOfThem = 50;
/// What all processes have that were spawned with a fun, or by proc_lib, of which a crash dump does
/// not tell what it started: it tells nothing of what they are for.
constexpr std::array<std::string_view, 3> kOfAnyPurpose = {"erlang:apply/2", "proc_lib:init_p/3",
                                                           "proc_lib:init_p/5"};

/// The function that most processes with that initial call are in.
Result<std::optional<GroupLine>> most_are_in(NodeFacts& facts, const std::string& initial_call) {
    GroupsOptions options;
    options.by = GroupBy::kCurrentFunction;
    options.sort = GroupSort::kCount;
    options.limit = 1;
    ASSIGN_OR_RETURN(auto filter, parse_filter("initial_call=" + initial_call));
    options.filters = {std::move(filter)};
    ASSIGN_OR_RETURN(auto groups, process_groups(facts.dump(), facts.file(), options));
    return groups.groups.empty() ? std::nullopt : std::optional(std::move(groups.groups.front()));
}

}  // namespace

Result<RuleAnswer> process_kind_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    const std::uint64_t share = percent_of(scan->kind_processes, scan->processes);
    if (!scan->kind || scan->kind_processes < kManyOfAKind || share < kMostOfThem) {
        return answer;
    }
    const auto name = mfa_text(facts.dump(), *scan->kind).value_or("?");
    const bool tells_nothing = std::ranges::find(kOfAnyPurpose, name) != kOfAnyPurpose.end();
    ASSIGN_OR_RETURN(const auto place, tells_nothing ? most_are_in(facts, name) : std::nullopt);
    Finding finding;
    finding.sentence = fmt::format(
        "{} of {} processes ({}%) are of one kind, {}{}, with {}.",
        count_text(scan->kind_processes), count_text(scan->processes), share, name,
        place
            ? fmt::format(", {} of them in {}", count_text(place->count), place->name.value_or("?"))
            : std::string(),
        bytes_text(scan->kind_bytes));
    finding.command = place ? facts.command("processes", {"--group-by", "current_function",
                                                          "--filter", "initial_call=" + name})
                            : facts.command("processes", {"--group-by", "initial_call"});
    finding.figures = {{"processes", scan->kind_processes},
                       {"all_processes", scan->processes},
                       {"share_percent", share},
                       {"memory_bytes", scan->kind_bytes},
                       {"initial_call", name}};
    finding.values = {"pid", "initial_call", "translated_initial_call", "memory"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
