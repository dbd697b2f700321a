#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace beamdump::query {

namespace {

/// Of the node's memory.
constexpr std::uint64_t kLargeShare = 20;
/// Of each row that is left: rows have some hundred bytes.
constexpr std::uint64_t kMuchOfARow = 4096;

/// Whether a table is fixed, by ets:safe_fixtable/2 or a traversal under way, and has more memory
/// than its rows explain: rows that are deleted meanwhile are kept (erl_db_hash.c).
bool keeps_deleted_rows(const EtsTableLine& table) {
    return table.fixed.value_or(false) && table.size &&
           table.memory_bytes.value_or(0) / std::max<std::uint64_t>(*table.size, 1) >= kMuchOfARow;
}

/// `shop`; of an unnamed table, of whose name there may be many, also which one it is.
std::string name_of(const EtsTableLine& table) {
    const auto name = table.name.value_or(table.id.value_or("?"));
    if (table.named_table.value_or(true)) {
        return name;
    }
    const auto more = table.id && table.name ? table.id
                      : table.owner          ? std::optional("of " + *table.owner)
                                             : std::nullopt;
    return more ? fmt::format("{} ({})", name, *more) : name;
}

}  // namespace

Result<RuleAnswer> ets_table_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* tables, facts.tables());
    ASSIGN_OR_RETURN(const auto node_bytes, facts.node_bytes());
    std::vector<const EtsTableLine*> large;
    bool known = true;
    for (const auto& table : *tables) {
        known = known && table.memory_bytes.has_value();
        const auto bytes = table.memory_bytes.value_or(0);
        if (bytes >= kLargeBytes &&
            (percent_of(bytes, node_bytes) >= kLargeShare || keeps_deleted_rows(table))) {
            large.push_back(&table);
        }
    }
    std::ranges::stable_sort(large, std::greater(),
                             [](const auto* table) { return table->memory_bytes; });
    large.resize(std::min<std::size_t>(large.size(), kMostOfARule));
    RuleAnswer answer;
    if (!known) {
        answer.left_out = "the dump does not have the memory of each table";
    }
    for (const auto* table : large) {
        const auto name = name_of(*table);
        const auto share = percent_of(*table->memory_bytes, node_bytes);
        Finding finding;
        finding.sentence =
            fmt::format("{}% of the node's memory ({} of {}) is the ETS table {}{}{}.", share,
                        bytes_text(*table->memory_bytes), bytes_text(node_bytes), name,
                        table->size ? ", with " + counted(*table->size, "row") : "",
                        keeps_deleted_rows(*table)
                            ? ": it is fixed (ets:safe_fixtable, or a traversal under way), which "
                              "keeps what is deleted"
                            : "");
        finding.command = facts.command("ets");
        finding.figures = {{"memory_bytes", *table->memory_bytes},
                           {"all_memory_bytes", node_bytes},
                           {"share_percent", share},
                           {"table", name}};
        if (table->size) {
            finding.figures.push_back({"rows", *table->size});
        }
        finding.values = {"ets.memory_bytes", "ets.name", "categories"};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

}  // namespace beamdump::query
