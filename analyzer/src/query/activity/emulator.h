#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/process_details.h"
#include "query/process/process_line.h"
#include "query/rows/row_list.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// A permission of the emulator, which one process or job of the VM has at a time.
struct PermissionLine {
    /// code_write (up to OTP 25), code_staging and code_modification (from 26 on), or
    /// persistent_term_update
    std::string name;
    bool held = false;
    bool holder_stored = false;         ///< the release stores which process holds it
    std::optional<ProcessLine> holder;  ///< held without one: by a job of the VM
    /// Where the holder is not stored: suspended processes in a function that takes the
    /// permission, and do not wait for it.
    std::vector<ProcessLine> may_hold;
    std::vector<ProcessLine> waiting;  ///< the first come first, as many as were asked for
    std::uint64_t waiters = 0;         ///< jobs of the VM among them
    std::uint64_t waiting_jobs = 0;
};

/// What a normal scheduler contributes to thread progress, for which code loading, persistent
/// terms and others wait.
struct ProgressLine {
    std::uint64_t scheduler = 0;
    /// sleeping: counts as confirmed; confirmed; behind: has not confirmed the present value, for
    /// which all that wait for thread progress wait; unknown: cannot be told from one scheduler
    std::string state;
    /// It kept the value from advancing, in two readings so far apart, without the stops between:
    /// it was behind at one value, or was the leader, and the value was the same.
    std::optional<std::uint64_t> held_up_for_us;
    bool leader = false;                 ///< which alone advances the value
    bool blocking = false;               ///< it blocks all other threads
    std::optional<ProcessLine> process;  ///< that it ran when the dump was taken
    std::optional<std::string> port;
    std::optional<std::string> frees;  ///< pid of a process that has ended
    /// Members of a circle in the list of off-heap objects of that one, or of `process`, which
    /// exits: the scheduler walks it for ever.
    std::optional<std::uint64_t> off_heap_circle, off_heap_circle_address;
};

/// A process with tasks that others, or the VM, asked it to do.
struct TaskedProcess {
    ProcessLine process;
    std::optional<std::vector<SystemTaskLine>> tasks;  ///< nullopt: could not be read
};

/// A list in which a suspended process stands, which tells why it is suspended.
enum class SuspensionKind : std::uint8_t {
    kHoldsPermission,
    kPermission,
    kConnection,
    kPort,
    kProcess
};
struct Suspension {
    SuspensionKind kind = SuspensionKind::kProcess;
    std::string what;  ///< the permission, the other node, the port, the pid
    std::string text;  ///< "waits for the permission code_write"
};

/// A suspended process, and why, as far as a list tells where it stands.
struct SuspendedProcess {
    ProcessLine process;
    std::vector<Suspension> reasons;  ///< none: it is in no list that the dump has
};

/// A trace session, or what is traced without one, and to whom its messages go.
struct TraceLine {
    std::optional<std::string> session;  ///< its name; absent up to OTP 26
    std::optional<ProcessLine> tracer;
    std::optional<std::string> port;    ///< the tracer, if it is a port
    std::optional<std::string> module;  ///< of a tracer other than erl_tracer
    std::uint64_t processes = 0;        ///< that are traced
    std::string flags;                  ///< of any of them, as erlang:trace/3 calls them
};

/// A function whose calls are traced or counted, in one trace session.
struct TracedFunctionLine {
    std::string function;
    std::optional<std::string> session;  ///< its name; absent up to OTP 26
    std::optional<std::string> flags;    ///< as erlang:trace_pattern/3 calls them; absent: unread
};

struct EmulatorReport {
    DumpFacts dump;
    std::vector<PermissionLine> permissions;
    std::vector<ProgressLine> progress;
    /// The thread that the leader waits for is none of the schedulers: its number.
    std::optional<std::int64_t> other_thread;
    std::vector<TaskedProcess> tasked;
    std::uint64_t tasked_total = 0;
    std::vector<SuspendedProcess> suspended;
    std::uint64_t suspended_total = 0;
    std::vector<ProcessLine> exiting;
    std::uint64_t exiting_total = 0;
    std::vector<TraceLine> traces;    ///< those of most processes first
    std::uint64_t trace_total = 0;    ///< of these lines
    std::uint64_t traced_total = 0;   ///< processes that are traced
    std::uint64_t traced_unread = 0;  ///< of them, such whose tracer could not be read
    std::vector<TracedFunctionLine> traced_functions;
    std::optional<std::uint64_t> traced_functions_total;  ///< functions; nullopt: not known
    std::optional<std::uint64_t> active_code_index, staging_code_index;
    std::optional<bool> collects_literals;  ///< a literal area is being copied out of processes
    std::vector<std::string> untold;        ///< sentences
};

/// The emulator's own state, with at most `limit` of each list (0: all). kNotFound: the dump does
/// not have it. Reads the structure of each process that is listed, and of all that are traced.
Result<EmulatorReport> emulator_report(Dump& dump, const std::string& file, std::uint64_t limit);
/// What every dump tells of it, without traces: no permissions and thread progress where there is
/// no record of them, of which `untold` then has a sentence.
Result<EmulatorReport> known_of_emulator(Dump& dump, const std::string& file);

/// Whether a process in this function may hold the code write permission, or wait for it: the BIFs
/// that take it and may be suspended with it.
bool takes_code_permission(const std::optional<std::string>& function);

/// Types of NIF resources, as rows: module, name, living, loaded, destructor. kNotFound.
std::span<const Column> resource_columns();
Result<RowList> list_resources(Dump& dump, const RowQuery& query);

}  // namespace beamdump::query
