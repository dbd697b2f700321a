#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace beamdump::crash {

/// A node in external format.
struct NodeName {
    std::string name;
    std::uint32_t creation = 0;
};

/// A fun's entry with the facts that the external format needs.
struct FunEntry {
    std::uint32_t module_atom = 0;
    std::uint32_t index = 0;
    std::uint32_t old_index = 0;
    std::int32_t old_uniq = 0;
    std::string uniq;  ///< 16 bytes
};

/// Fun entries by address. Grows with the node's fun table (tens of thousands, not millions).
using FunEntries = std::unordered_map<std::uint64_t, FunEntry>;

/// The facts of the node that the export of terms needs.
struct NodeFacts {
    NodeName self;
    FunEntries funs;
    /// The dump was converted from a crash dump: the text has each object as that one had it.
    bool of_crash_dump = false;
    /// For a converted crash dump of a node with four-byte words, addresses in the dump are twice
    /// the node's.
    std::uint64_t address_scale = 1;

    static Result<NodeFacts> read(Dump& dump);
};

}  // namespace beamdump::crash
