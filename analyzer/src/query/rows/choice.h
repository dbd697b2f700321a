#pragma once

#include <libdump/base/error.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::query {

/// Says that `word` is no such `what`, which there are, and which may be meant.
std::string unknown_value(std::string_view what, std::string_view word,
                          std::span<const std::string_view> known);

/// A value and the name that options have for it.
template <typename Value>
using Named = std::pair<std::string_view, Value>;

/// The value with that name; kUsage, with all names, where none has it.
template <typename Value, std::size_t kCount>
Result<Value> parse_choice(std::string_view what, std::string_view word,
                           const std::array<Named<Value>, kCount>& choices) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
        if (name == word) {
            return value;
        }
        names.push_back(name);
    }
    return fail(ErrorCode::kUsage, unknown_value(what, word, names));
}

}  // namespace beamdump::query
