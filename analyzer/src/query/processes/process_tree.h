#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

struct TreeOptions {
    bool links = false;        ///< by links, instead of by parents
    std::uint64_t depth = 4;   ///< levels; 0: all
    std::uint64_t limit = 20;  ///< children shown of each process, and roots; 0: all
    std::string root = {};     ///< a pid or a registered name; empty: all roots
    bool sensitive = false;    ///< also the dictionaries of processes flagged sensitive
    ReadProgress progress = {};
    InputLimits limits = {};  ///< kLimit where the tree needs more memory
};

/// Sums over a process and all below it. A sum over no known value is absent.
struct TreeSums {
    std::uint64_t processes = 0;
    std::optional<std::uint64_t> memory_bytes;
    std::optional<std::uint64_t> messages;

    void add(const TreeSums& other);
};

struct TreeLine {
    std::uint64_t depth = 0;
    /// Nothing: represents children that are not shown, and all below them.
    std::optional<ProcessLine> process;
    TreeSums sums;
};

struct ProcessTree {
    DumpFacts dump;
    bool links = false;
    std::uint64_t total = 0;  ///< processes in the dump
    std::uint64_t roots = 0;
    std::vector<TreeLine> lines;  ///< each process before those below it, largest memory first
    ProcessesRead read;
};

/// A process's parent is the first of proc_lib's '$ancestors', else the process that spawned it; a
/// process whose parent is not in the dump is a root. By links: each process is reached from the
/// one with the lowest pid, by the fewest links. Reads all processes, no heaps. Memory: 210
/// bytes a process, 64 a link, and the lines.
Result<ProcessTree> process_tree(Dump& dump, const std::string& file, const TreeOptions& options);

/// Owner ids of each process that has a parent in the dump, as process_tree() sees it, and of its
/// parent, by process. Memory: 250 bytes a process.
struct ProcessParents {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    ProcessesRead read;
};
Result<ProcessParents> process_parents(Dump& dump, const TreeOptions& options);

}  // namespace beamdump::query
