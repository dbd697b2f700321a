#pragma once

#include "query/findings/finding.h"
#include "query/findings/node_facts.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// A rule that did not look, or not at everything.
struct RuleLeftOut {
    std::string_view id;
    std::string reason;
    bool damage = false;  ///< the dump should have had what the rule needs
};

struct Findings {
    FindingsDepth depth = FindingsDepth::kQuick;
    std::vector<Finding> found;  ///< in the order of the rules
    std::vector<RuleLeftOut> left_out;
    /// The command that looks for what was left out although the dump has it; empty: nothing was.
    std::string full_command;
    std::optional<ProcessesRead> read;  ///< where the terms of all processes were asked for
};

/// quick or full. kUsage.
Result<FindingsDepth> parse_findings_depth(std::string_view name);

/// All rules in the order in which their findings are told.
std::span<const FindingRule> finding_rules();

/// Asks all rules.
Findings find_findings(NodeFacts& facts);

}  // namespace beamdump::query
