#pragma once

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace beamdump::query {

/// What tells one run of a node from another. Nothing: not known.
struct NodeRun {
    std::optional<std::string> node_name;
    std::optional<std::int64_t> boot_us;
    std::optional<std::uint64_t> os_pid;
    std::optional<std::uint64_t> creation;
    /// Slogan and date of a crash dump. A node writes one: two different ones are of two runs.
    std::optional<std::pair<std::string, std::string>> crash;
};

NodeRun node_run(const Dump& dump, const std::optional<std::string>& node_name);

/// Whether they are one run of one node, so that a pid is the same process in both: what is known
/// of both is equal.
bool same_run(const NodeRun& before, const NodeRun& after);

}  // namespace beamdump::query
