#pragma once

#include <libdump/base/error.h>
#include <libdump/model/atom_table.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// Matches terms of any process with a pattern. Terms whose words or bytes are not in the dump do
/// not match where they are looked at.
class PatternMatch {
  public:
    /// The pattern must outlive it.
    static Result<PatternMatch> make(AtomTable& atoms, const Pattern& pattern);

    /// Atoms of the pattern that the node does not have: nothing can match then.
    [[nodiscard]] const std::vector<std::string>& unknown_atoms() const { return unknown_; }

    bool matches(const TagScheme& scheme, WordReader& reader, std::uint64_t word) const {
        return matches(scheme, reader, *pattern_, word);
    }

  private:
    explicit PatternMatch(const Pattern& pattern) : pattern_(&pattern) {}
    Result<void> resolve(AtomTable& atoms, const Pattern& pattern);
    bool matches(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                 std::uint64_t word) const;
    bool matches_boxed(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                       std::uint64_t word) const;
    bool matches_list(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                      std::uint64_t word) const;
    bool matches_map(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                     std::uint64_t address) const;
    bool matches_pair(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                      const Pattern& key, const Pattern& value) const;

    const Pattern* pattern_;  ///< non-owning
    std::unordered_map<std::string, std::uint32_t> atoms_;
    std::vector<std::string> unknown_;
};

/// The characters of a list as UTF-8, at most `most`; nothing for what is no list of characters.
/// A list that is longer gives its beginning.
std::optional<std::string> list_characters(const TagScheme& scheme, WordReader& reader,
                                           std::uint64_t word, std::size_t most);

}  // namespace beamdump::query
