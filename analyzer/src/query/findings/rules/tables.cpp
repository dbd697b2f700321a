#include "query/activity/ports.h"
#include "query/activity/timers.h"
#include "query/findings/finding.h"
#include "query/findings/node_facts.h"
#include "query/process/opened_process.h"
#include "query/tables/atoms.h"
#include "query/term/term_view.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/process_stack.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <vector>

// Rules about ETS tables, persistent terms, and the node's tables of atoms, processes, ports and
// timers.

namespace beamdump::query {

namespace {

/// A share of the node's memory, in percent.
constexpr std::uint64_t kLargeShare = 20;
/// Bytes for each row that is left: rows have some hundred bytes.
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
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// Atoms are never removed, and a full table ends the node. A release with all of its applications
/// fills a tenth of it.
constexpr std::uint64_t kHalfFull = 50;
/// Percent of the atoms: this many that are alike were made from input.
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
    RowQuery query;
    query.limit = 1;
    ASSIGN_OR_RETURN(auto atoms, list_atoms(facts.dump(), facts.file(), AtomRows::kGroups, query));
    std::string of_one_group;
    for (const auto& group : atoms.list.take()) {
        const std::string name(text_at(group, AtomGroupPlace::kName));
        const auto count = number_at(group, AtomGroupPlace::kCount);
        const auto share = percent_of(count, totals.atoms());
        if (share >= kLargeGroup) {
            of_one_group = fmt::format(", {}% of it {} ({})", share, name, count_text(count));
            finding.figures.push_back({"group", name});
            finding.figures.push_back({"group_atoms", count});
        }
    }
    finding.sentence = fmt::format("The atom table is {}% full ({} of {} atoms){}.", full,
                                   count_text(totals.atoms()), count_text(*limit), of_one_group);
    finding.command = facts.command("atoms");
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// Percent of the limit: a node that may have 262,144 or a million, by default, has a tenth of
/// them.
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
    answer.findings.push_back(std::move(finding));
    return answer;
}

/// Percent of the limit.
constexpr std::uint64_t kNearPortLimit = 75;

Result<RuleAnswer> port_limit_rule(NodeFacts& facts) {
    const auto& node = facts.dump().node();
    if (!node.has_port_limit() || facts.dump().trailer().ports_offset_size() == 0) {
        return fail(ErrorCode::kNotFound,
                    "the dump does not tell how many ports the node may have, "
                    "or has no ports");
    }
    std::uint64_t ports = 0;
    for (const auto offset : facts.dump().trailer().ports_offset()) {
        ASSIGN_OR_RETURN(const auto page, facts.dump().reader().message_at<records::Ports>(
                                              offset, format::RecordKind::kPorts));
        ports += static_cast<std::uint64_t>(page.port_size());
    }
    const auto full = percent_of(ports, node.port_limit());
    RuleAnswer answer;
    if (full < kNearPortLimit) {
        return answer;
    }
    Finding finding;
    finding.sentence = fmt::format("The port table is {}% full ({} of {} ports).", full,
                                   count_text(ports), count_text(node.port_limit()));
    finding.command = facts.command("ports");
    finding.figures = {
        {"ports", ports}, {"port_limit", std::uint64_t{node.port_limit()}}, {"full_percent", full}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

namespace {

/// A name may be unregistered for a moment, while its process is restarted.
constexpr std::uint64_t kManyForName = 1000;
/// Timers that are set again before they are cancelled; a server with a timer for each of many
/// connections has fewer.
constexpr std::uint64_t kManyOfOneReceiver = 100'000;

struct Receiver {
    std::uint64_t timers = 0;
    bool orphaned = false;
    bool is_pid = false;
    /// A process's timers are cancelled when it exits (erl_process.c,
    /// erts_continue_exit_process()): one for a pid that no process has should not be there.
    [[nodiscard]] bool deserves_a_look() const {
        const std::uint64_t many = !orphaned ? kManyOfOneReceiver : is_pid ? 1 : kManyForName;
        return timers >= many;
    }
};
using ReceiverEntry = std::pair<std::string, Receiver>;

}  // namespace

Result<RuleAnswer> orphaned_timers_rule(NodeFacts& facts) {
    std::unordered_map<std::string, Receiver> receivers;
    std::uint64_t all = 0;
    RETURN_IF_ERROR(visit_message_timers(facts.dump(), [&](const MessageTimer& timer) {
        auto& receiver = receivers[std::string(timer.receiver)];
        ++receiver.timers;
        receiver.orphaned = timer.orphaned.value_or(false);
        receiver.is_pid = timer.receiver.starts_with('<');
        ++all;
    }));
    std::vector<ReceiverEntry> worst;
    for (const auto& entry : receivers) {
        if (entry.second.deserves_a_look()) {
            worst.emplace_back(entry);
        }
    }
    std::ranges::sort(worst, [](const ReceiverEntry& one, const ReceiverEntry& other) {
        return std::tuple(other.second.timers, one.first) <
               std::tuple(one.second.timers, other.first);
    });
    worst.resize(std::min<std::size_t>(worst.size(), kMostOfARule));
    RuleAnswer answer;
    answer.left_out = facts.text_cut_off();
    for (const auto& [name, receiver] : worst) {
        Finding finding;
        finding.sentence =
            receiver.orphaned
                ? fmt::format(
                      "{} of {} {} to send a message to {}, {}.", count_text(receiver.timers),
                      counted(all, "message timer"), receiver.timers == 1 ? "waits" : "wait", name,
                      receiver.is_pid ? "which does not exist" : "a name that no process has")
                : fmt::format("{} of {} are for one receiver, {}.", count_text(receiver.timers),
                              counted(all, "message timer"), facts.named(name));
        finding.command = facts.command("timers", {"--filter", "receiver=" + name});
        finding.figures = {{"timers", receiver.timers}, {"all_timers", all}, {"receiver", name}};
        answer.findings.push_back(std::move(finding));
    }
    return answer;
}

namespace {

/// A collection costs some 150 reductions for each process: replacing a hundred terms of a node
/// with a hundred processes. What a server puts as it starts is less.
constexpr std::uint64_t kMuchCollecting = 2'000'000;

/// For how many processes the collector waits: msg_loop/4 keeps a tuple of the requests under way
/// and the processes that follow (erts_literal_area_collector.erl, OTP 25.2.3 to 29.1.1). nullopt:
/// its stack is not in the dump, or another one.
std::optional<std::uint64_t> requests_under_way(OpenedProcess& process) {
    const TermView view(process.context(), process.scheme);
    StackWalk walk(process.context(), process.scheme, process.stack());
    while (const auto entry = walk.next()) {
        const bool pair =
            entry->kind == StackEntry::Kind::kRegister && view.arity(entry->word) == 2;
        const auto first = pair ? view.element(entry->word, 1) : std::nullopt;
        if (first && word_kind(process.scheme, *first) == WordKind::kSmall) {
            return static_cast<std::uint64_t>(std::max<std::int64_t>(small_value(*first), 0));
        }
    }
    return std::nullopt;
}

}  // namespace

/// Before the words of a persistent term that was replaced or erased are freed, or those of a
/// purged module, each process is searched for them.
Result<RuleAnswer> persistent_terms_rule(NodeFacts& facts) {
    ASSIGN_OR_RETURN(const auto* scan, facts.processes());
    RuleAnswer answer;
    if (!scan->literal_collector) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto line, facts.line(*scan->literal_collector));
    const auto reductions = line.reductions.value_or(0);
    if (reductions < kMuchCollecting) {
        return answer;
    }
    ASSIGN_OR_RETURN(const auto process, open_process(facts.dump(), line.pid));
    const auto waits_for = line.void_reason ? std::nullopt : requests_under_way(*process);
    const bool works = line.status.value_or("waiting") != "waiting" || waits_for.value_or(0) != 0 ||
                       line.message_queue_length.value_or(0) != 0;
    // What it did once is no problem of now.
    if (!works) {
        return answer;
    }
    const auto share = percent_of(reductions, scan->reductions);
    Finding finding;
    finding.sentence = fmt::format(
        "Persistent terms are replaced or erased often, or modules purged: the literal area "
        "collector ({}), which searches each process for what is to be freed, is at work and has "
        "used {}% of the reductions of all processes ({}). Who puts terms is not in a dump: "
        "beamdump-sample blame NODE --native persistent_term:put/2.",
        line.pid, share, count_text(reductions));
    finding.command = facts.command("persistent-terms");
    finding.figures = {{"reductions", reductions},
                       {"all_reductions", scan->reductions},
                       {"share_percent", share},
                       {"process", line.pid}};
    answer.findings.push_back(std::move(finding));
    return answer;
}

}  // namespace beamdump::query
