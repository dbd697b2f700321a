#pragma once

#include <libdump/base/nearest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

inline std::string_view name_in(std::string_view name) {
    return name;
}
template <typename Value>
std::string_view name_in(const std::pair<std::string_view, Value>& named) {
    return named.first;
}

/// The sentence for a `word` that is none of `known`: it lists these, and suggests the nearest.
template <typename Names>
std::string unknown_value(std::string_view what, std::string_view word, const Names& known) {
    Nearest nearest(word);
    std::vector<std::string_view> names;
    for (const auto& one : known) {
        names.push_back(name_in(one));
        nearest.add(names.back());
    }
    return fmt::format(
        "there is no {} \"{}\": use {}{}", what, word, fmt::join(names, ", "),
        nearest.best().empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest.best()));
}

}  // namespace beamdump::query
