#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_style.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

namespace beamdump::query {

/// Adds to lines of processes what shown_name() needs beside the index: names from the
/// dictionaries, and whether the node runs Elixir. Reads the dictionaries only of processes without
/// a registered name, never of those flagged sensitive. One that cannot be read adds nothing: the
/// initial call remains. Of a crash dump only a process that is open has a dictionary.
class ProcessNames {
  public:
    /// The dump must outlive this.
    explicit ProcessNames(Dump& dump) : dump_(&dump) {}

    void add_to(OpenedProcess& process);
    /// `rows` are those of the lines, in the same order. Reads the processes in the order of the
    /// file.
    void add_to(std::span<ProcessLine> lines, std::span<const records::ProcessRow> rows);
    void add_to(ProcessLine& line, const records::ProcessRow& row);

    /// What tables show of a process beside its pid.
    struct Shown {
        std::optional<std::string> name{};  ///< shown_name()
        /// What proc_lib says was called first, else what was.
        std::optional<std::string> initial_call{};
    };
    /// By owner ids. Those that the dump lacks have none. Memory: the texts of each.
    Result<std::unordered_map<std::uint64_t, Shown>> shown(
        const std::set<std::uint64_t>& owner_ids);
    /// The shown names of processes by their owner ids. Those that the dump lacks have none.
    /// Memory: a name for each.
    Result<std::unordered_map<std::uint64_t, std::string>> of(
        const std::set<std::uint64_t>& owner_ids);
    /// What dictionaries name processes without a registered name, by their owner ids. Reads all of
    /// these processes, unless no process can have such a name; none of a crash dump. Memory: a
    /// name for each.
    Result<std::unordered_map<std::uint64_t, std::string>> labels();

  private:
    using Named = std::function<void(const records::ProcessRow&, const ProcessLine&)>;
    /// Tells the processes of these rows, with their names.
    Result<void> each_named(std::span<const std::uint64_t> numbers, const Named& named);
    void add_dictionary(OpenedProcess& process, ProcessLine& line);
    /// The line of an unregistered process, with what its dictionary says.
    void add_from_file(const records::ProcessRow& row, ProcessLine& line);
    void add_syntax(ProcessLine& line);
    TermSyntax syntax();
    /// The bits of those of kNamingKeys that the node has an atom of, or may have.
    std::uint32_t naming_keys();

    Dump* dump_;  // non-owning
    std::optional<TermSyntax> syntax_;
    std::optional<std::uint32_t> naming_keys_;
};

/// The line of a process, for a table.
ProcessLine named_line(Dump& dump, const records::ProcessRow& row);

}  // namespace beamdump::query
