#include "query/findings/findings.h"

#include "query/facts/node_syntax.h"
#include "query/rows/choice.h"

#include <array>
#include <utility>

namespace beamdump::query {

// A rule NAME is NAME_rule() in the file of query/findings/rules that looks at such things, and one
// line here, causes before what follows from them: the mailbox of a process that waits in a cycle
// grows.
#define BEAMDUMP_FINDING_RULES(RULE) \
    RULE(slogan)                     \
    RULE(crash)                      \
    RULE(stopped_node)               \
    RULE(cgroup_memory)              \
    RULE(call_cycle)                 \
    RULE(stuck_start)                \
    RULE(mnesia_tables)              \
    RULE(global_lock)                \
    RULE(waiting_callers)            \
    RULE(emulator_waits)             \
    RULE(suspended_process)          \
    RULE(system_process)             \
    RULE(native_call)                \
    RULE(busy_port)                  \
    RULE(restart_loop)               \
    RULE(process_starts)             \
    RULE(mailbox)                    \
    RULE(asleep_with_messages)       \
    RULE(persistent_terms)           \
    RULE(run_queue)                  \
    RULE(hot_process)                \
    RULE(process_memory)             \
    RULE(process_kind)               \
    RULE(large_dictionary)           \
    RULE(many_relations)             \
    RULE(many_resources)             \
    RULE(traced)                     \
    RULE(ets_table)                  \
    RULE(fixed_table)                \
    RULE(binary_memory)              \
    RULE(pinned_binaries)            \
    RULE(atom_table)                 \
    RULE(process_limit)              \
    RULE(port_limit)                 \
    RULE(orphaned_timers)            \
    RULE(orphaned_ports)             \
    RULE(busy_connection)            \
    RULE(sockets)                    \
    RULE(old_code)                   \
    RULE(carriers)                   \
    RULE(lazy_free)                  \
    RULE(unread_log)                 \
    RULE(release_candidate)

#define BEAMDUMP_DECLARE(name) Result<RuleAnswer> name##_rule(NodeFacts& facts);
BEAMDUMP_FINDING_RULES(BEAMDUMP_DECLARE)
#undef BEAMDUMP_DECLARE

namespace {

#define BEAMDUMP_ENTER(name) FindingRule{#name, name##_rule},
constexpr auto kRules = std::to_array<FindingRule>({BEAMDUMP_FINDING_RULES(BEAMDUMP_ENTER)});
#undef BEAMDUMP_ENTER
#undef BEAMDUMP_FINDING_RULES

}  // namespace

Result<FindingsDepth> parse_findings_depth(std::string_view name) {
    constexpr std::array<Named<FindingsDepth>, 2> kDepths = {
        {{"quick", FindingsDepth::kQuick}, {"full", FindingsDepth::kFull}}};
    return parse_choice("depth of findings", name, kDepths);
}

std::span<const FindingRule> finding_rules() {
    return kRules;
}

Findings find_findings(NodeFacts& facts) {
    Findings findings;
    findings.depth = facts.options().depth;
    bool left_to_full = false;
    const NodeNames names(facts.dump());
    for (const FindingRule& rule : kRules) {
        auto answer = rule.look(facts);
        if (!answer) {
            const bool lacks = answer.error().code == ErrorCode::kNotFound ||
                               answer.error().code == ErrorCode::kAbsent;
            findings.left_out.push_back({rule.id, std::move(answer.error().message), !lacks});
            continue;
        }
        for (Finding& finding : answer->findings) {
            finding.id = rule.id;
            finding.sentence = names.sentence(finding.sentence);
            findings.found.push_back(std::move(finding));
        }
        if (answer->left_out) {
            left_to_full = left_to_full || answer->left_to_full;
            findings.left_out.push_back({rule.id, std::move(*answer->left_out)});
        }
    }
    if (left_to_full) {
        findings.full_command = facts.command("summary", {"--findings", "full"});
    }
    findings.read = facts.read();
    return findings;
}

}  // namespace beamdump::query
