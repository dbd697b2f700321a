#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// A pattern of terms.
struct Pattern {
    enum class Kind : std::uint8_t {
        kAny,
        kAtom,     ///< text
        kInteger,  ///< integer
        kFloat,    ///< number
        kText,     ///< text: a list of these characters, or a binary of these bytes
        kBinary,   ///< text: its bytes
        kPid,      ///< owner_id
        kTuple,    ///< items
        kList,     ///< items; with open_end, the last one is the list's rest
        kMap,      ///< items: key, value, key, value...; a map may have further keys
    };
    Kind kind = Kind::kAny;
    std::string text;
    std::int64_t integer = 0;
    double number = 0;
    std::uint64_t owner_id = 0;
    bool open_end = false;
    std::vector<Pattern> items;
};

/// Longest pattern, and deepest nesting in it.
inline constexpr std::size_t kMaxPatternBytes = 64U << 10U;
inline constexpr unsigned kMaxPatternDepth = 100;

/// Erlang's syntax, `{state, _, #{id := 7}}`, or Elixir's, `{:state, _, %{id: 7}}`. `_` and
/// variables match any term, also where a variable is used twice. kUsage, with the place.
Result<Pattern> parse_pattern(std::string_view text);

}  // namespace beamdump::query
