#pragma once

#include "query/process/every_process.h"
#include "query/processes/process_columns.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

namespace beamdump::query {

/// Values of columns that the process index does not have: read of processes and tables, only what
/// was chosen. Memory: 60 bytes for each process that was read, and the owners of tables; a text
/// for each process that has a label or an application, where they were read.
class ProcessValues {
  public:
    ProcessValues(Dump& dump, const ColumnChoice& choice, ReadProgress progress)
        : dump_(&dump), choice_(choice), progress_(std::move(progress)) {}

    /// Sums of the tables of each owner. kNotFound where the dump has no tables.
    Result<void> read_tables();
    /// Processes at these rows of the index.
    Result<void> read_processes(std::span<const std::uint64_t> numbers);
    /// Applications of the processes that have these owner ids.
    Result<void> read_applications(const std::set<std::uint64_t>& owners);
    /// Names that dictionaries have for processes (ProcessNames::labels()).
    Result<void> read_labels();

    /// The amount of a column of a process, in the unit of its field.
    [[nodiscard]] std::optional<std::uint64_t> amount(ProcessColumn column,
                                                      std::uint64_t owner) const;
    /// Null: none is known.
    [[nodiscard]] const std::string* application(std::uint64_t owner) const;
    [[nodiscard]] const std::string* label(std::uint64_t owner) const;

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
    using Texts = std::unordered_map<std::uint64_t, std::string>;  ///< by owner id

    Result<void> add(OpenedProcess& process);
    /// The tables of a process. Of an owner that has none in a crash dump that breaks off, absent.
    [[nodiscard]] std::optional<Tables> tables_of(std::uint64_t owner) const;
    static const std::string* find(const Texts& texts, std::uint64_t owner);

    Dump* dump_;  // non-owning
    ColumnChoice choice_;
    ReadProgress progress_;
    std::unordered_map<std::uint64_t, Facts> facts_;                    ///< by owner id
    std::optional<std::map<std::string, Tables, std::less<>>> tables_;  ///< by pid, once read
    Texts applications_;
    Texts labels_;
    std::optional<ProcessesRead> read_;
};

}  // namespace beamdump::query
