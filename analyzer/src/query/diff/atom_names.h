#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace beamdump::query {

/// Names under which atoms of several dumps can be compared. list_atoms() puts atoms together as
/// each dump has them: an atom that one dump lists by itself may be in a group of another, or in
/// two groups of two others. What is added are texts with folded digits, or patterns with *.
class AtomNames {
  public:
    /// First: the groups of each dump that have a pattern; others are left out.
    void add_pattern(std::size_t dump, const std::string& name);
    [[nodiscard]] bool has_patterns() const { return !patterns_.empty(); }
    /// Then: all groups of all dumps. One that fits two patterns ties these together.
    void tie(const std::string& name);
    /// At last: ties patterns that may have atoms in common where not all dumps have both.
    void settle(std::size_t dumps);

    /// As Erlang prints it: the name itself, or the patterns of all groups that atoms of this name
    /// are in, joined by "or".
    [[nodiscard]] std::string of(const std::string& name) const;

  private:
    struct Pattern {
        std::set<std::size_t> dumps;
        std::string tied_to;  ///< a pattern, or itself
        std::string name;     ///< of all that are tied together, where it is tied to itself
    };

    [[nodiscard]] std::vector<std::string> known_patterns(const std::string& name) const;
    [[nodiscard]] const std::string& root_of(const std::string& pattern) const;
    void tie(const std::string& one, const std::string& other);

    std::map<std::string, Pattern> patterns_;
};

}  // namespace beamdump::query
