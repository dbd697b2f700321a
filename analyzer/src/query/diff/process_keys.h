#pragma once

#include "query/diff/diff_source.h"

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace beamdump::query {

/// A process under the key by which it is found in the other dumps.
struct KeyedProcess {
    /// Its pid within one run of the node; else "registered NAME", "label TERM" or "initial call
    /// M:F/A", the first that it has, which several processes may share.
    std::string key;
    /// What proc_lib started, where all dumps can tell, else the initial call; "(unknown)".
    std::string call;
    /// The initial call by name: processes with one pid and different ones are different.
    std::optional<std::uint64_t> identity;
    std::uint64_t row = 0;
    std::uint64_t owner = 0;
    std::optional<std::uint64_t> memory;
    std::optional<std::uint64_t> messages;
};

/// An export may have none (--detail facts).
bool has_processes(const ComparedDump& dump);

/// All processes of a dump, in the order of its index. Across runs labels are read of all
/// processes, where the node has any.
Result<void> each_keyed_process(DiffContext& context, std::size_t dump,
                                const std::function<void(const KeyedProcess&)>& visit);

/// Pid, name, initial call and what it does, as the last dump that has the thing says. For things
/// whose place is a row of the index, or of an export.
Result<void> describe_processes(DiffContext& context, const ThingTable& table,
                                std::span<ThingChange*> things);

/// The name by which a process under this key is opened; nothing where there is not one.
std::optional<std::string> name_in_key(const DiffContext& context, const std::string& key);

}  // namespace beamdump::query
