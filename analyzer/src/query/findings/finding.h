#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace beamdump::query {

/// A number or a name of a finding, for programs.
struct Figure {
    std::string_view name;  ///< bytes where it ends in _bytes, percent in _percent, else a count
    std::variant<std::uint64_t, std::string> value;
};

/// Something of the node that deserves a look.
struct Finding {
    std::string_view id;          ///< of its rule, which find_findings() sets
    std::string sentence;         ///< with its number
    std::string command;          ///< that shows more, for a shell
    std::vector<Figure> figures;  ///< that the sentence has
};

/// What a rule says of a dump. Without findings and without `left_out` the node has no such
/// problem.
struct RuleAnswer {
    std::vector<Finding> findings;
    /// Why the rule did not look, or not at everything.
    std::optional<std::string> left_out;
    /// Full findings look at what is left out.
    bool left_to_full = false;
};

class NodeFacts;

/// A rule: its name, and what it says. An error of kNotFound or kAbsent means that the dump lacks
/// what the rule needs.
struct FindingRule {
    std::string_view id;
    Result<RuleAnswer> (*look)(NodeFacts& facts);
};

/// Less is not worth a look: an empty node takes 30 to 50 MiB.
inline constexpr std::uint64_t kLargeBytes = 32UL << 20U;

/// Findings of one rule: the largest, not a list of everything.
inline constexpr std::uint64_t kMostOfARule = 3;

/// Whole percent of a part, rounded down; 0 of nothing.
constexpr std::uint64_t percent_of(std::uint64_t part, std::uint64_t whole) {
    constexpr double kPercent = 100.0;
    return whole == 0 ? 0
                      : static_cast<std::uint64_t>(kPercent * static_cast<double>(part) /
                                                   static_cast<double>(whole));
}

}  // namespace beamdump::query
