#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace beamdump::crash {

/// A node as terms in external format name it.
struct NodeName {
    std::string name;
    std::uint32_t creation = 0;
};

/// A fun's entry, with what the external format says of it.
struct FunEntry {
    std::uint32_t module_atom = 0;
    std::uint32_t index = 0;
    std::uint32_t old_index = 0;
    std::int32_t old_uniq = 0;
    std::string uniq;  ///< 16 bytes
};

/// Fun entries by address. Grows with the node's fun table (tens of thousands, not millions).
using FunEntries = std::unordered_map<std::uint64_t, FunEntry>;

/// What terms need to be told of the node that they lay in.
struct NodeFacts {
    NodeName self;
    FunEntries funs;
    /// Its dump was made of a crash dump: the text has each object as that one had it.
    bool of_crash_dump = false;
    /// Of a crash dump of a node with words of four bytes, addresses in the dump are twice the
    /// node's (libdump/crash).
    std::uint64_t address_scale = 1;

    static Result<NodeFacts> read(Dump& dump);
};

}  // namespace beamdump::crash
