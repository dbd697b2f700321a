#pragma once

#include "query/activity/emulator.h"
#include "query/findings/process_scan.h"
#include "query/memory/node_memory.h"
#include "query/process/every_process.h"
#include "query/process/process_line.h"
#include "query/tables/ets_tables.h"
#include "query/waits/hang.h"
#include "query/waits/waits.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// How much findings read.
enum class FindingsDepth : std::uint8_t {
    kQuick,  ///< tables and indexes, and the few processes that these point at
    kFull,   ///< also the terms of all processes
};

struct FindingsOptions {
    FindingsDepth depth = FindingsDepth::kQuick;
    bool sensitive = false;  ///< also the terms of processes flagged sensitive
    InputLimits limits;
    ReadProgress progress = {};
    /// Processes in a call that quick findings read each; so many take a second.
    std::uint64_t most_callers = 16384;
    /// Whether the dump has the terms of processes: not where only the facts of a crash dump were
    /// read.
    bool terms = true;
};

/// What rules look at: each is read when the first of them asks, and then kept.
class NodeFacts {
  public:
    /// The dump must outlive it.
    NodeFacts(Dump& dump, std::string file, FindingsOptions options)
        : dump_(dump), file_(std::move(file)), options_(std::move(options)) {}

    [[nodiscard]] Dump& dump() { return dump_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] const FindingsOptions& options() const { return options_; }
    [[nodiscard]] bool full() const { return options_.depth == FindingsDepth::kFull; }

    Result<const ProcessScan*> processes();
    /// kNotFound where the dump has none.
    Result<const std::vector<EtsTableLine>*> tables();
    Result<const NodeMemory*> memory();
    /// What the node counted as its memory, else what is resident of it. kNotFound.
    Result<std::uint64_t> node_bytes();
    /// Atoms of the modules that have old code. kNotFound of a crash dump.
    Result<const std::set<std::uint64_t>*> old_modules();
    /// The waits of all processes; else of those in a call, as many as `processes()` keeps.
    Result<const Waits*> waits();
    /// Waits across kinds, of the same processes.
    Result<const Hang*> hang();
    /// For what one process (its pid or registered name) waits in the end. Reads the same processes
    /// each time.
    Result<HangEnd> hang_of(const std::string& process);
    /// known_of_emulator()
    Result<const EmulatorReport*> emulator();

    /// That not all processes in a call were read; nullopt: all were.
    std::optional<std::string> callers_left_out();

    /// The process that the thread ran which wrote a crash dump; null where the dump does
    /// not tell one.
    Result<const ProcessLine*> calling_process();

    /// That what follows is not known, where the text of a crash dump is truncated.
    [[nodiscard]] std::optional<std::string> text_cut_off() const;

    Result<ProcessLine> line(std::uint64_t row);
    /// A process that is named by its pid or registered name; the word itself where the dump does
    /// not have it.
    [[nodiscard]] std::string named(const std::string& process);
    /// A command line of beamdump-analyze about this dump: the command, DUMP, and further words.
    [[nodiscard]] std::string command(std::string_view name,
                                      std::initializer_list<std::string_view> words = {}) const;

    /// Adds processes whose terms were read or should have been.
    void tell_read(const ProcessesRead& read);
    /// The one of the passes over processes that missed most.
    [[nodiscard]] const std::optional<ProcessesRead>& read() const { return read_; }

  private:
    Result<WaitsOptions> waits_options();

    Dump& dump_;
    std::string file_;
    FindingsOptions options_;
    std::optional<ProcessScan> processes_;
    std::optional<std::vector<EtsTableLine>> tables_;
    std::optional<NodeMemory> memory_;
    std::optional<std::set<std::uint64_t>> old_modules_;
    std::optional<Waits> waits_;
    std::optional<Hang> hang_;
    std::optional<EmulatorReport> emulator_;
    std::optional<std::optional<ProcessLine>> calling_process_;
    std::optional<ProcessesRead> read_;
};

/// "mbox (<0.88.0>)"; without a registered name "<0.88.0> (demo:loop/1)".
std::string process_with_name(const ProcessLine& line);
/// ", which is waiting in demo:loop/1"; empty where the dump does not tell.
std::string place_of(const ProcessLine& line);
/// A pid as a shell takes it: 0.88.0.
std::string pid_word(const ProcessLine& line);

}  // namespace beamdump::query
