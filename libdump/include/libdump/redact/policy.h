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

/// What is hidden.
struct Policy {
    std::string name = "structure";  ///< recorded in the dump
    Level level = Level::kStructure;
    /// Patterns (fnmatch(3)) of atoms that remain or are hidden, whatever else is decided. An atom
    /// of both lists is hidden.
    std::vector<std::string> keep_atoms;
    std::vector<std::string> hide_atoms;
    /// Makes equal atoms equal pseudonyms in several dumps; else each dump has its own.
    std::optional<std::string> salt;
};

/// "structure" or "text"; nothing for another name.
std::optional<Policy> named_policy(std::string_view name);

/// The policy of a JSON text, docs/redaction.md. kUsage with what is wrong: also for a member that
/// this version does not know.
Result<Policy> parse_policy(std::string_view json);

/// The policy that a user names: "structure", "text" or a file of at most 1 MiB. Its name in the
/// dump is then "file" and its level.
Result<Policy> read_policy(const std::string& name_or_file);

}  // namespace beamdump::redact
