#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// A process as a user names it.
struct ProcessName {
    std::optional<std::uint64_t> owner_id;  ///< if it is a pid
    /// Otherwise the registered names to try, in this order; at least one.
    std::vector<std::string> registered;
};

/// A pid in any form that shells print or accept: `<0.123.0>`, `0.123.0`, `#PID<0.123.0>`,
/// `pid(0,123,0)`, `pid(0, 123, 0)`, `pid("0.123.0")`, each also as `c:pid(...)`. Or a registered
/// name in Erlang's or Elixir's syntax: `name`, `'name'`, `:name`, `:"name"`, `Module.Name` (which
/// is 'Elixir.Module.Name').
ProcessName parse_process_name(std::string_view text);

/// The owner id of `<0.123.0>` or `0.123.0`; nullopt if `text` is not of that form.
std::optional<std::uint64_t> parse_pid(std::string_view text);

}  // namespace beamdump
