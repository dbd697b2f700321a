#pragma once

#include "query/process/every_process.h"
#include "query/process/process_line.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/model/dump_form.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// What a list of processes shows on request only.
enum class ProcessColumn : std::uint8_t {
    kBinaries,
    kEts,
    kStack,
    kHeap,
    kOldHeap,
    kLinks,
    kMonitors,
    kMonitoredBy,
    kState,
    kFlags,
    kApplication,
};

/// One of them, in the order of lists.
struct RequestedColumn {
    enum class Unit : std::uint8_t { kBytes, kWords, kCount, kText };
    ProcessColumn column;
    std::string_view name;       ///< in --columns
    std::string_view title;      ///< of a table
    std::string_view what = {};  ///< for the help; empty: the name says it
    Unit unit;
    std::optional<std::uint64_t> ProcessLine::* amount = nullptr;
    std::optional<std::uint64_t> ProcessLine::* count = nullptr;  ///< of what has this amount
    std::optional<std::string> ProcessLine::* text = nullptr;     ///< in place of an amount
};
std::span<const RequestedColumn> requested_columns();

/// Which of them.
class ColumnChoice {
  public:
    void add(ProcessColumn column) { chosen_.at(static_cast<std::size_t>(column)) = true; }
    void remove(ProcessColumn column) { chosen_.at(static_cast<std::size_t>(column)) = false; }
    [[nodiscard]] bool has(ProcessColumn column) const {
        return chosen_.at(static_cast<std::size_t>(column));
    }
    /// Whether something of each process is read, beside the index.
    [[nodiscard]] bool reads_processes(const DumpForm& form) const {
        return has(ProcessColumn::kBinaries) || has(ProcessColumn::kHeap) ||
               has(ProcessColumn::kOldHeap) ||
               (!form.indexed_stack_sizes && has(ProcessColumn::kStack));
    }

  private:
    std::array<bool, 11> chosen_{};
};

/// Adds columns by their names, separated by commas. kUsage.
Result<void> parse_columns(std::string_view names, ColumnChoice& choice);

/// Reads what columns show of processes: only what is asked for. Memory: 60 bytes for each process
/// read in advance, and the owners of tables.
class ProcessColumns {
  public:
    ProcessColumns(Dump& dump, const ColumnChoice& choice, ReadProgress progress)
        : dump_(&dump), choice_(choice), progress_(std::move(progress)) {}

    /// Sums of the tables of each owner. kNotFound where the dump has no tables.
    Result<void> read_tables();
    /// Processes at these rows of the index.
    Result<void> read_processes(std::span<const std::uint64_t> numbers);

    [[nodiscard]] std::optional<std::uint64_t> binary_bytes(std::uint64_t owner) const;
    /// The size of a process's stack in a crash dump.
    [[nodiscard]] std::optional<std::uint64_t> stack_words(std::uint64_t owner) const;
    [[nodiscard]] std::optional<std::uint64_t> ets_bytes(std::uint64_t owner) const;

    /// Applications of the processes that have these owner ids.
    Result<void> read_applications(const std::set<std::uint64_t>& owners);

    /// Adds what is known to the line of a process, and forgets it.
    void fill(std::uint64_t owner, ProcessLine& line);
    /// What was read of all of them.
    [[nodiscard]] const std::optional<ProcessesRead>& read() const { return read_; }

  private:
    struct Facts {
        std::optional<std::uint64_t> binary_references;
        std::optional<std::uint64_t> binary_bytes;
        std::optional<std::uint64_t> stack_words;
        std::optional<std::uint64_t> heap_words;
        std::optional<std::uint64_t> old_heap_words;
    };
    struct Tables {
        std::uint64_t count = 0;
        std::optional<std::uint64_t> bytes = 0;  ///< where known of each
    };
    Result<void> add(OpenedProcess& process);
    /// What is known of an owner without tables: a crash dump that breaks off may lack them.
    [[nodiscard]] std::optional<std::uint64_t> none_of_tables() const;

    Dump* dump_;  // non-owning
    ColumnChoice choice_;
    ReadProgress progress_;
    std::unordered_map<std::uint64_t, Facts> facts_;  ///< by owner id
    std::map<std::string, Tables, std::less<>> tables_;
    std::unordered_map<std::uint64_t, std::string> applications_;  ///< by owner id
    bool tables_read_ = false;
    std::optional<ProcessesRead> read_;
};

}  // namespace beamdump::query
