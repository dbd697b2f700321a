#pragma once

#include "query/facts/dump_facts.h"
#include "query/rows/fields.h"
#include "query/rows/row_list.h"

#include <libdump/model/dump.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// What beamdump-watch read of a node at about one moment.
struct HistoryReading {
    std::uint64_t at_us = 0;
    std::optional<std::uint64_t> memory, limit, resident, total, processes_memory, system, binary,
        code, ets;
    std::optional<std::uint64_t> processes, ports, atoms, run_queue;
    /// Processor time per time since the reading before, in tenths of a percent of one processor.
    std::optional<std::uint64_t> processor;
    std::optional<std::uint64_t> pressure;  ///< tenths of a percent
    std::optional<std::uint64_t> limit_reached, oom_kills;
};

/// A process in one reading of all processes, in which it was among the first.
struct HistoryProcess {
    std::uint64_t at_us = 0;
    std::string pid;
    std::optional<std::string> name{};  ///< registered
    std::optional<std::string> initial_call{};
    std::optional<std::uint64_t> heap{}, messages{};
};

/// A process from the first reading that has it to the last.
struct HistoryOfProcess {
    std::string pid;
    std::optional<std::string> name{};
    std::optional<std::string> initial_call{};
    std::vector<HistoryProcess> seen{};  ///< at least one
    /// By how much it is more in the last reading that tells it than in the first; nothing where it
    /// is not more.
    [[nodiscard]] std::optional<std::uint64_t> heap_growth() const;
    [[nodiscard]] std::optional<std::uint64_t> messages_growth() const;
};

/// Two readings, one after the other, between which the machine's clock was set back, or nothing
/// was read for much longer than otherwise.
struct HistoryBreak {
    std::uint64_t after_us = 0;  ///< what the clock said at the first one
    std::uint64_t at_us = 0;     ///< and at the second
    std::size_t reading = 0;     ///< the second one, in History::readings
    [[nodiscard]] bool set_back() const { return at_us < after_us; }
};

/// A function in one profile of a recording.
struct HistoryFunction {
    std::uint64_t at_us = 0;    ///< when the profile began
    std::uint64_t took_us = 0;  ///< how long it took
    std::uint64_t rate = 0;     ///< samples a second of each thread's processor time
    std::string function{};
    std::uint64_t self = 0;   ///< samples in it or in native code that it called
    std::uint64_t total = 0;  ///< samples in it or in what it called
};

/// What the node's threads did in a part of the time.
struct HistoryProfile {
    std::uint64_t at_us = 0;  ///< when it began
    std::uint64_t took_us = 0;
    std::uint64_t rate = 0;      ///< samples a second of each thread's processor time
    std::uint64_t samples = 0;   ///< of all threads, those that run no Erlang code too
    std::uint64_t lost = 0;      ///< that the kernel dropped
    std::uint64_t left_out = 0;  ///< of further different stacks than the recording keeps
    std::vector<HistoryFunction> functions{};  ///< those with most samples in themselves first
};

/// A function over all profiles: processor time in tenths of a percent of one processor.
struct HistoryOfFunction {
    std::string function{};
    std::uint64_t self = 0;   ///< as HistoryFunction's, of all profiles
    std::uint64_t last = 0;   ///< `self` of the last profiles
    std::uint64_t total = 0;  ///< of all profiles
    /// `self` of each profile that has samples of it, with the time at which that began.
    std::vector<std::pair<std::uint64_t, std::optional<std::uint64_t>>> over_time{};
};

struct History {
    DumpFacts dump;
    bool recording = false;  ///< a file of beamdump-watch, not a dump's part
    std::optional<std::uint64_t> os_pid;
    std::vector<HistoryReading> readings;        ///< at least one; as they were made
    std::vector<std::uint64_t> scans_us;         ///< when readings of all processes began
    std::vector<HistoryOfProcess> processes;     ///< in order of their first reading
    std::vector<HistoryProfile> profiles;        ///< in order of time
    std::optional<std::uint64_t> node_ended_us;  ///< when beamdump-watch saw that it had ended
    std::optional<std::uint64_t> watcher_ended_us;
    /// Processes of its cgroup that the kernel ended for memory after the last reading that was
    /// made a second or more before the node's end.
    std::optional<std::uint64_t> oom_kills_at_end;
};

std::span<const Field<HistoryReading>> history_fields();
std::span<const Field<HistoryProcess>> history_process_fields();
std::span<const Field<HistoryFunction>> history_function_fields();
std::span<const Column> history_columns();
std::span<const Column> history_process_columns();
std::span<const Column> history_function_columns();

/// kNotFound: the dump has no readings.
Result<History> read_history(Dump& dump, const std::string& file);

/// Where the times of a history's readings do not follow one another. A clock that was set forward
/// is not told from a machine that slept.
std::vector<HistoryBreak> breaks_of(const History& history);

/// The functions of a history's profiles; those first that take most, in all or in the last
/// `last` profiles.
std::vector<HistoryOfFunction> functions_of(const History& history, std::size_t last);

/// The part from a moment on; nullopt: fewer than two readings are in it.
std::optional<History> history_from(History history, std::uint64_t at_us);

/// The readings, the processes of each reading of all, and the functions of each profile, as rows.
/// Errors as read_history().
Result<RowList> list_history(Dump& dump, const RowQuery& query);
Result<RowList> list_history_processes(Dump& dump, const RowQuery& query);
Result<RowList> list_history_functions(Dump& dump, const RowQuery& query);

}  // namespace beamdump::query
