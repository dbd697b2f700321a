#pragma once

#include <libdump/model/dump.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// The memory of a node's allocators and of its operating-system process, as a capture or a crash
/// dump has it. What it does not say is absent.
struct NodeMemory {
    std::vector<records::AllocatorInstance> allocators;
    records::SystemMemory system;
    /// erlang:memory/0's, in its order.
    std::vector<std::pair<std::string, std::uint64_t>> categories;
};

Result<NodeMemory> node_memory(Dump& dump);

/// erlang:memory/0's categories alone: one record, or none of a crash dump.
Result<std::vector<std::pair<std::string, std::uint64_t>>> memory_categories(Dump& dump);

}  // namespace beamdump::query
