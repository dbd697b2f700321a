#pragma once

#include "query/holders/process_sweep.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/heap_scan.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// Where terms are that no process holds.
struct TermOwner {
    ProcessLine process;  ///< a table's owner; without a pid: not known, or of literals
    std::optional<std::string> table;
    std::optional<std::string> module;  ///< of literals
    std::optional<std::uint32_t> module_atom = {};
    bool persistent_terms = false;
};

/// "ETS table sessions", "literals of module shop", "persistent terms"; empty of a process.
std::string holder_name(const TermOwner& owner);

/// How much was looked at.
struct NodeSweepCounts {
    std::uint64_t tables = 0;            ///< ETS tables whose rows were walked
    std::uint64_t tables_without = 0;    ///< ... that have rows which the dump lacks
    std::uint64_t compressed_rows = 0;   ///< not walked
    std::uint64_t modules = 0;           ///< whose literals were walked
    std::uint64_t persistent_terms = 0;  ///< that were walked
    /// ... of which the dump does not have all: larger than is captured, changed meanwhile
    std::uint64_t persistent_terms_without = 0;
    std::uint64_t unreadable = 0;  ///< as ProcessSweep's
    /// Nothing was walked: a crash dump does not have rows of tables, nor what only the node refers
    /// to.
    bool processes_only = false;
};

/// One sentence for each thing that is not in such a dump at all: "rows of ETS tables, ...".
std::vector<std::string> not_searched(const NodeSweepCounts& counts);

/// Walks what no process holds: the rows of ETS tables, the literals of modules, and persistent
/// terms. Memory: as
/// ProcessSweep, for one record of rows or one module; and a line for each table.
class NodeSweep {
  public:
    explicit NodeSweep(const InputLimits& limits);

    using Begin = std::function<void(const TermOwner& owner)>;
    /// The rows that the dump has; `begin` is told before each table's. Nothing in a dump without
    /// tables, as a crash dump's.
    Result<void> rows(Dump& dump, SweepVisitor& visitor, const Begin& begin);
    /// The terms of each module's literals that no other of them refers to; those of persistent
    /// terms are none.
    Result<void> literals(Dump& dump, SweepVisitor& visitor, const Begin& begin);
    /// The persistent terms that the dump has; `begin` is told once. Nothing in a crash dump.
    Result<void> persistent_terms(Dump& dump, SweepVisitor& visitor, const Begin& begin);
    [[nodiscard]] const NodeSweepCounts& counts() const { return counts_; }

  private:
    Result<void> record(Dump& dump, std::uint64_t offset, const EtsTableLine& table,
                        SweepVisitor& visitor);
    Result<void> area(Dump& dump, const records::Module& module, const HeapBlock& block,
                      SweepVisitor& visitor);

    ScratchSpace space_;
    AddressMarks marks_;
    NodeSweepCounts counts_;
};

}  // namespace beamdump::query
