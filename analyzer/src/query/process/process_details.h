#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_line.h"
#include "query/term/term_text.h"

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace beamdump::query {

class DeferredTexts;

enum class FactUnit : std::uint8_t { kNone, kBytes, kWords, kAddress, kBits };

/// One fact about a process, under process_info's name if it has one.
struct Fact {
    std::string name;
    std::variant<std::string, std::uint64_t, bool> value;
    FactUnit unit = FactUnit::kNone;
};

/// A group of facts: "memory", "message_queue"...
struct FactGroup {
    std::string name;
    std::vector<Fact> facts;
};

/// The first items of a list, and the count of all.
template <typename Item>
struct Excerpt {
    std::vector<Item> items;
    std::uint64_t total = 0;
};

struct LinkLine {
    std::string kind;   ///< process, port, remote
    std::string other;  ///< as Erlang prints it
    bool unlinking = false;
    std::optional<std::string> display_name = {};  ///< shown_name() of a process
};

struct MonitorLine {
    std::string kind;   ///< process, port, time_offset, remote, resource, ...
    std::string other;  ///< pid, port, name or {name,node}
    std::optional<std::string> reference;
    std::optional<std::string> display_name = {};  ///< shown_name() of a process
};

struct DictionaryLine {
    TermText key;
    TermText value;
};

/// A saved x register of the current function.
struct ArgumentLine {
    std::uint64_t index = 0;
    TermText term;
};

struct MessageLine {
    std::uint64_t index = 0;  ///< among all entries of the queues
    std::string queue;        ///< inner, middle, outer, buffer
    TermText term;
};

/// A function, and the line in it.
struct CodeLine {
    std::string function;  ///< module:function/arity
    std::optional<std::string> file;
    std::optional<std::uint64_t> line;  ///< known if the file is
};

/// A process that this one suspends.
struct SuspendLine {
    std::string process;
    std::uint64_t active = 0;       ///< times, in force
    std::uint64_t outstanding = 0;  ///< times, requested and not yet in force
};

/// A task that waits to be done by a process.
struct SystemTaskLine {
    std::string kind;                              ///< system_task_kind()
    std::optional<std::string> priority;           ///< max, high, normal, low
    bool dirty = false;                            ///< it waits for a dirty scheduler
    std::optional<std::string> requester;          ///< pid; nullopt: the VM
    std::optional<std::string> display_name = {};  ///< shown_name() of the requester
    std::optional<std::string> module;             ///< of check_process_code
};

/// Signals of one kind that wait in a process's queues.
struct SignalLine {
    std::string kind;  ///< signal_kind()
    std::uint64_t count = 0;
};

/// A reference-counted binary that this process refers to.
struct ReferencedBinary {
    std::uint64_t address = 0;  ///< of its structure: process_info's id
    std::optional<std::uint64_t> size_bytes;
    std::optional<std::uint64_t> references;
};

struct RegionLine {
    std::string kind;
    std::uint64_t address = 0;
    std::uint64_t total_bytes = 0;
    std::uint64_t captured_bytes = 0;
    std::optional<std::string> absent_because;
};

struct ProcessDetails {
    DumpFacts dump;
    ProcessLine line;
    std::optional<std::string> void_detail;
    std::vector<FactGroup> groups;
    Excerpt<CodeLine> stacktrace;  ///< process_info's current_stacktrace
    Excerpt<LinkLine> links;
    Excerpt<MonitorLine> monitors;      ///< that this process holds
    Excerpt<MonitorLine> monitored_by;  ///< that others hold on it
    /// Whether the dump tells links and monitors; not for a process of a crash dump that breaks off
    /// before them, or that was exiting.
    bool relations_known = true;
    // nullopt for a crash dump.
    std::optional<Excerpt<ArgumentLine>> arguments;
    std::optional<Excerpt<SuspendLine>> suspending;
    std::optional<Excerpt<ReferencedBinary>> binaries;
    /// nullopt: some wait, and could not be read, or the dump does not tell.
    std::optional<Excerpt<SystemTaskLine>> system_tasks;
    /// The most first. nullopt: not counted, as the queues are not in the dump or too long.
    std::optional<Excerpt<SignalLine>> signals;
    Excerpt<DictionaryLine> dictionary;
    Excerpt<MessageLine> messages;
    std::uint64_t other_signals = 0;  ///< entries of the queues that are not messages
    /// nullopt for a heap of a crash dump that is read lazily.
    std::optional<Excerpt<RegionLine>> regions;
    bool withheld = false;        ///< flagged sensitive: dictionary and messages not shown
    std::uint64_t malformed = 0;  ///< malformed words of the dictionary
    std::shared_ptr<const DeferredTexts> texts;  ///< source of the terms above
    /// These and the placeholders in the terms above, as far as they were written.
    [[nodiscard]] std::uint64_t all_placeholders() const;
};

struct DetailsOptions {
    std::uint64_t limit = 20;      ///< items of each list; 0: all, held in memory
    std::size_t term_bytes = 200;  ///< of each term's text; 0: all
    bool sensitive = false;        ///< show the terms of a process flagged sensitive
};

/// All facts about one process. Lists are read only as far as needed for their totals and `limit`
/// items.
Result<ProcessDetails> process_details(Dump& dump, const std::string& file, std::string_view name,
                                       const DetailsOptions& options);

/// The system tasks of a process, without names of who asked for them; nullopt as in
/// ProcessDetails.
std::optional<std::vector<SystemTaskLine>> system_tasks_of(Dump& dump,
                                                           const records::Process& process);

/// Fills links, monitors, monitored_by and suspending from a run's Relations records.
Result<void> read_relations(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                            std::uint64_t limit, ProcessDetails& into);

}  // namespace beamdump::query
