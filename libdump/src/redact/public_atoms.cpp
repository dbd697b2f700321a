#include "redact/atom_names.h"

#include <algorithm>

namespace beamdump::redact {
namespace {

/// Sorted. Reasons, options and names of processes that OTP and Elixir have in their own code, and
/// that answers about any node show.
constexpr std::array kPublicAtoms = std::to_array<std::string_view>({
    "$ancestors", "$callers", "$dictionary_rand", "$end_of_table", "$gen_all_state_event",
    "$gen_call", "$gen_cast", "$gen_event", "$gen_sync_all_state_event", "$initial_call",
    "$logger_metadata$", "$process_label", "$schema", "DOWN", "EXIT", "Elixir.GenServer", "UP",
    "__exception__", "__struct__", "alias", "all", "any", "application", "application_controller",
    "applications", "async", "atom", "auth", "badarg", "badarith", "badarity", "badfun", "badkey",
    "badmap", "badmatch", "badrecord", "badrpc", "bag", "binary", "bits", "brutal_kill", "bytes",
    "call", "case_clause", "cast", "child", "child_spec", "children", "code_change", "code_server",
    "compressed", "continue", "data", "debug", "default_group", "description", "duplicate_bag",
    "empty", "env", "erlang", "error", "erts_code_purger", "exec", "exit", "false",
    "file_io_server", "file_server_2", "float", "format_status", "from", "function",
    "function_clause", "get_line", "get_state", "get_until", "getopts", "global_group",
    "global_name_server", "handle_call", "handle_cast", "handle_info", "heir", "hibernate", "id",
    "if_clause", "in", "included_applications", "inet", "inet6", "inet_db", "infinity", "info",
    "init", "integer", "io_reply", "io_request", "kernel_safe_sup", "kernel_sup", "key", "keypos",
    "keys", "kill", "killed", "latin1", "length", "link", "list", "loaded", "local", "logger",
    "logger_proxy", "logger_std_h_default", "logger_sup", "map", "message", "messages", "mod",
    "module", "modules", "monitor", "name", "named_table", "names", "net_kernel", "net_sup", "nil",
    "noconnection", "node", "nodedown", "nodes", "none", "nonode@nohost", "noproc", "noreply",
    "normal", "null", "ok", "one_for_all", "one_for_one", "ordered_set", "out", "permanent", "pid",
    "port", "private", "process", "protected", "public", "put_chars", "queue", "rand_cache",
    "rand_seed", "read_concurrency", "ref", "reference", "registered", "replace_state", "reply",
    "request", "response", "rest_for_one", "restarting", "resume", "rex", "running", "self", "set",
    "setopts", "shutdown", "simple_one_for_one", "size", "ssl", "ssl_closed", "ssl_error",
    "standard_error", "standard_io", "start", "start_link", "state", "stop", "string", "supervisor",
    "suspend", "sync", "system", "system_limit", "tag", "tcp", "tcp_closed", "tcp_error",
    "tcp_inet", "temporary", "terminate", "throw", "time_offset", "timeout", "to", "trace",
    "trace_ts", "transient", "true", "try_clause", "tuple", "udp", "udp_inet", "undef", "undefined",
    "unicode", "unlink", "user", "user_drv", "utf8", "value", "vsn", "worker", "write_concurrency",
});

}  // namespace

bool is_public_atom(std::string_view text) {
    static_assert(std::ranges::is_sorted(kPublicAtoms));
    return std::ranges::binary_search(kPublicAtoms, text);
}

}  // namespace beamdump::redact
