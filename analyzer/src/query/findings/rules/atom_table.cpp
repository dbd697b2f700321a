#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/tables/atoms.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

namespace {

/// Atoms are never removed, and a full table ends the node. A release with all of its applications
/// fills a tenth of it.
constexpr std::uint64_t kHalfFull = 50;
/// Percent of the atoms: this many that differ only in digits were made from input.
constexpr std::uint64_t kLargeGroup = 20;

}  // namespace

Result<RuleAnswer> atom_table_rule(NodeFacts& facts) {
    const auto& totals = facts.dump().trailer().totals();
    const auto limit = atom_limit(facts.dump()).limit;
    if (!totals.has_atoms() || !limit) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell how many atoms the node may have");
    }
    RuleAnswer answer;
    const auto full = percent_of(totals.atoms(), *limit);
    if (full < kHalfFull) {
        return answer;
    }
    Finding finding;
    finding.figures = {{"atoms", totals.atoms()}, {"atom_limit", *limit}, {"full_percent", full}};
    AtomsOptions query;
    query.limit = 1;
    ASSIGN_OR_RETURN(const auto report, atom_report(facts.dump(), facts.file(), query));
    std::string of_one_group;
    if (!report.largest_groups.empty()) {
        const auto& group = report.largest_groups.front();
        const auto share = percent_of(group.count, totals.atoms());
        if (share >= kLargeGroup) {
            of_one_group =
                fmt::format(", {}% of it {} ({})", share, group.name, count_text(group.count));
            finding.figures.push_back({"group", group.name});
            finding.figures.push_back({"group_atoms", group.count});
        }
    }
    finding.sentence = fmt::format("The atom table is {}% full ({} of {} atoms){}.", full,
                                   count_text(totals.atoms()), count_text(*limit), of_one_group);
    finding.command = facts.command("atoms");
    finding.values = {"summary.counts.atoms", "atoms.count"};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
