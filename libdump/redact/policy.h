#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::redact {

enum class Level : std::uint8_t {
    kStructure,  ///< no values: shapes, sizes and sharing remain
    kText,       ///< binaries, strings and big integers are hidden; other numbers and atoms remain
};

/// Patterns (fnmatch(3)) of names: what remains, and what is hidden though it is in what remains.
struct NameLists {
    std::vector<std::string> keep;
    std::vector<std::string> hide;
    [[nodiscard]] bool empty() const { return keep.empty() && hide.empty(); }
};

/// What is hidden.
struct Policy {
    std::string name = "structure";  ///< recorded in the dump
    Level level = Level::kStructure;
    /// Patterns (fnmatch(3)) of atoms that remain or are hidden, whatever else is decided. An atom
    /// of both lists is hidden.
    std::vector<std::string> keep_atoms;
    std::vector<std::string> hide_atoms;
    /// Terms: of processes and literals by module, of tuples by their tag, of maps by their
    /// `__struct__`, and values of maps, dictionaries and pairs by their key. Of the level kText
    /// nothing can be hidden so.
    NameLists modules;
    NameLists records;
    NameLists structs;
    NameLists keys;
    [[nodiscard]] bool has_term_lists() const {
        return !modules.empty() || !records.empty() || !structs.empty() || !keys.empty();
    }
    /// Makes equal atoms equal pseudonyms in several dumps; else each dump has its own.
    std::optional<std::string> salt;
};

/// Whether a text matches one of the patterns.
bool matches(const std::vector<std::string>& patterns, std::string_view text);

/// "structure" or "text"; nothing for another name.
std::optional<Policy> named_policy(std::string_view name);

/// The policy of a JSON text, docs/redaction.md. kUsage with what is wrong: also for a member that
/// this version does not know.
Result<Policy> parse_policy(std::string_view json);

/// The policy that a user names: "structure", "text" or a file of at most 1 MiB. Its name in the
/// dump is then "file" and its level.
Result<Policy> read_policy(const std::string& name_or_file);

}  // namespace beamdump::redact
