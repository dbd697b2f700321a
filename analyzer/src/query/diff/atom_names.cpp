#include "query/diff/atom_names.h"

#include "query/tables/atoms.h"

#include <libdump/term/atom_text.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace beamdump::query {

namespace {

/// Whether a text can begin or end as both patterns say.
bool may_overlap(std::string_view one, std::string_view other) {
    const auto parts = [](std::string_view pattern) {
        const auto star = pattern.find('*');
        return std::pair(pattern.substr(0, star), pattern.substr(star + 1));
    };
    const auto [prefix, suffix] = parts(one);
    const auto [other_prefix, other_suffix] = parts(other);
    return (prefix.starts_with(other_prefix) || other_prefix.starts_with(prefix)) &&
           (suffix.ends_with(other_suffix) || other_suffix.ends_with(suffix));
}

bool is_pattern(std::string_view name) {
    return name.contains('*');
}

}  // namespace

void AtomNames::add_pattern(std::size_t dump, const std::string& name) {
    if (is_pattern(name)) {
        auto& pattern = patterns_[name];
        pattern.dumps.insert(dump);
        pattern.tied_to = name;
    }
}

std::vector<std::string> AtomNames::known_patterns(const std::string& name) const {
    if (patterns_.contains(name)) {
        return {name};
    }
    if (patterns_.empty()) {
        return {};
    }
    auto patterns = atom_patterns(name);
    std::erase_if(patterns,
                  [this](const std::string& pattern) { return !patterns_.contains(pattern); });
    return patterns;
}

void AtomNames::tie(const std::string& name) {
    const auto patterns = known_patterns(name);
    for (std::size_t i = 1; i < patterns.size(); ++i) {
        tie(patterns[0], patterns[i]);
    }
}

void AtomNames::settle(std::size_t dumps) {
    for (auto one = patterns_.begin(); one != patterns_.end(); ++one) {
        for (auto other = std::next(one); other != patterns_.end(); ++other) {
            const bool everywhere =
                one->second.dumps.size() == dumps && other->second.dumps.size() == dumps;
            if (!everywhere && may_overlap(one->first, other->first)) {
                tie(one->first, other->first);
            }
        }
    }
    for (const auto& [name, pattern] : patterns_) {
        auto& all = patterns_.at(root_of(name)).name;
        all += (all.empty() ? "" : " or ") + quoted_atom(name);
    }
}

void AtomNames::tie(const std::string& one, const std::string& other) {
    const std::string to = root_of(one);
    patterns_.at(root_of(other)).tied_to = to;
}

const std::string& AtomNames::root_of(const std::string& pattern) const {
    const auto* at = &patterns_.at(pattern).tied_to;
    while (patterns_.at(*at).tied_to != *at) {
        at = &patterns_.at(*at).tied_to;
    }
    return *at;
}

std::string AtomNames::of(const std::string& name) const {
    const auto patterns = known_patterns(name);
    return patterns.empty() ? quoted_atom(name) : patterns_.at(root_of(patterns.front())).name;
}

}  // namespace beamdump::query
