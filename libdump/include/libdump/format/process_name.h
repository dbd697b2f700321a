#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// What a person may mean by the name of a process.
struct ProcessName {
    std::optional<std::uint64_t> owner_id;  ///< where it is a pid
    /// Else the names that it may be registered by, in the order in which they are to be tried. At
    /// least one.
    std::vector<std::string> registered;
};

/// A pid in any way that shells print or take it: `<0.123.0>`, `0.123.0`, `#PID<0.123.0>`,
/// `pid(0,123,0)`, `pid(0, 123, 0)`, `pid("0.123.0")`, each also as `c:pid(...)`. Or a registered
/// name in Erlang's or Elixir's syntax: `name`, `'name'`, `:name`, `:"name"`, `Module.Name` (which
/// is 'Elixir.Module.Name').
ProcessName parse_process_name(std::string_view text);

/// The owner id that `<0.123.0>` or `0.123.0` names; nothing if `text` is not of that form.
std::optional<std::uint64_t> parse_pid(std::string_view text);

}  // namespace beamdump
