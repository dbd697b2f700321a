#include "query/activity/emulator.h"

#include "query/activity/schedulers.h"
#include "query/process/opened_process.h"
#include "query/process/process_names.h"
#include "query/rows/fields.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/process_flags.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>
#include <libdump/term/term_printer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

// The same bits in OTP 24 to 29 (libdump/format/process_flags.cpp).
constexpr std::uint64_t kExiting = std::uint64_t{1} << 11U;
constexpr std::uint64_t kSuspended = std::uint64_t{1} << 16U;
constexpr std::uint64_t kSystemTasks = std::uint64_t{1} << 18U;
constexpr std::uint64_t kDirtyTasks = std::uint64_t{1} << 28U;

/// Flags of a breakpoint whose counter of calls, time or memory is not paused (beam_bp.c).
constexpr std::uint64_t kCounterRuns = 0x248;

std::string permission_name(records::PermissionKind kind) {
    switch (kind) {
        case records::PERMISSION_KIND_CODE_WRITE:
            return "code_write";
        case records::PERMISSION_KIND_CODE_MODIFICATION:
            return "code_modification";
        case records::PERMISSION_KIND_CODE_STAGING:
            return "code_staging";
        case records::PERMISSION_KIND_PERSISTENT_TERM_UPDATE:
            return "persistent_term_update";
        default:
            return "unknown";
    }
}

/// The readings of all records, and what the first of them has besides.
Result<records::Emulator> emulator_of(Dump& dump) {
    if (dump.trailer().emulator_offset_size() == 0) {
        return not_in_dump(dump, "state of the emulator");
    }
    records::Emulator all;
    for (const auto offset : dump.trailer().emulator_offset()) {
        ASSIGN_OR_RETURN(const auto part, dump.reader().message_at<records::Emulator>(
                                              offset, format::RecordKind::kEmulator));
        all.MergeFrom(part);
    }
    return all;
}

/// Whether the scheduler has not confirmed the value of a reading. nullopt: cannot be told.
std::optional<bool> is_behind(const records::ProgressReading& reading,
                              const records::ThreadProgress& thread, bool exact) {
    if (!thread.has_confirmed()) {
        return false;
    }
    if (exact || thread.confirmed() <= reading.current()) {
        return thread.confirmed() <= reading.current();
    }
    // Without the value itself: another one has confirmed more.
    const auto more = [&](const records::ThreadProgress& other) {
        return other.has_confirmed() && other.confirmed() > thread.confirmed();
    };
    return std::ranges::any_of(reading.thread(), more) ? std::optional(true) : std::nullopt;
}

/// For how long, in microseconds, a scheduler kept the value from advancing: in all readings it was
/// behind at one value, or it was the leader, which alone advances it, and did not. Without the
/// stops of the capture.
std::optional<std::uint64_t> held_up_for(const records::Emulator& emulator, std::uint32_t scheduler,
                                         std::int64_t stopped_ns, bool exact) {
    std::optional<std::uint64_t> confirmed;
    std::optional<std::uint64_t> current;
    bool was_behind = true;
    bool led = true;
    for (const auto& reading : emulator.progress()) {
        const auto thread =
            std::ranges::find(reading.thread(), scheduler, &records::ThreadProgress::scheduler);
        if (thread == reading.thread().end() || !thread->has_confirmed() ||
            !reading.has_current()) {
            return std::nullopt;
        }
        const bool same = !confirmed || *confirmed == thread->confirmed();
        was_behind = was_behind && same && is_behind(reading, *thread, exact).value_or(false);
        led = led && same && thread->leader() && thread->active() &&
              (!current || *current == reading.current());
        confirmed = thread->confirmed();
        current = reading.current();
    }
    if (emulator.progress_size() < 2 || (!was_behind && !led)) {
        return std::nullopt;
    }
    constexpr std::int64_t kNanoseconds = 1000;
    const auto span = emulator.progress().rbegin()->monotonic_ns() -
                      emulator.progress(0).monotonic_ns() - stopped_ns;
    return span < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(span / kNanoseconds));
}

/// Makes the report, part by part.
class Reading {
  public:
    Reading(Dump& dump, records::Emulator emulator, std::uint64_t limit, EmulatorReport& into)
        : dump_(dump), emulator_(std::move(emulator)), limit_(limit), into_(into) {}

    Result<void> run() {
        into_.untold.assign(emulator_.untold().begin(), emulator_.untold().end());
        if (emulator_.has_active_code_index()) {
            into_.active_code_index = emulator_.active_code_index();
            into_.staging_code_index = emulator_.staging_code_index();
        }
        if (emulator_.has_literal_area_address()) {
            into_.collects_literals = emulator_.literal_area_address() != 0;
        }
        RETURN_IF_ERROR(find_processes());
        permissions();
        RETURN_IF_ERROR(progress());
        return suspended();
    }

    /// Reads all processes that are traced.
    Result<void> traces() {
        std::map<TraceKey, Traced> found;
        RETURN_IF_ERROR(read_traced(found));
        for (const auto& session : emulator_.trace_session()) {
            auto& traced = found[key_of(session.struct_address(), session.tracer())];
            if (session.has_name_atom()) {
                traced.session_name = session.name_atom();
            }
        }
        ProcessNames names(dump_);
        for (const auto& [key, traced] : found) {
            RETURN_IF_ERROR(add_trace(key, traced, names));
        }
        add_traced_functions();
        std::ranges::stable_sort(into_.traces, std::ranges::greater(), &TraceLine::processes);
        into_.trace_total = into_.traces.size();
        if (limit_ != 0 && into_.traces.size() > limit_) {
            into_.traces.resize(limit_);
        }
        return {};
    }

  private:
    [[nodiscard]] bool room_for(std::size_t items) const { return limit_ == 0 || items < limit_; }

    /// Lines of all processes that are named anywhere, and the rows of those in a state.
    Result<void> find_processes() {
        std::set<std::uint64_t> named;
        for (const auto& permission : emulator_.permission()) {
            if (permission.has_holder_owner_id()) {
                named.insert(permission.holder_owner_id());
            }
            named.insert(permission.waiter_owner_id().begin(), permission.waiter_owner_id().end());
        }
        auto schedulers = scheduler_lines(dump_);
        if (!schedulers && schedulers.error().code != ErrorCode::kNotFound) {
            return std::unexpected(schedulers.error());
        }
        if (schedulers) {
            schedulers_ = std::move(*schedulers);
        }
        for (const auto& scheduler : schedulers_) {
            if (const auto owner =
                    scheduler.process ? parse_pid(*scheduler.process) : std::nullopt) {
                named.insert(*owner);
            }
        }
        std::vector<std::uint64_t> wanted;
        constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                         records::PROCESS_COLUMN_STATE_BITS,
                                         records::PROCESS_COLUMN_TRACE_FLAGS};
        RETURN_IF_ERROR(
            dump_.processes().visit(kColumns, [&](std::uint64_t row, ProcessIndex::Values values) {
                const auto owner = values[0].value_or(0);
                const auto state = values[1].value_or(0);
                bool listed = false;
                const auto note = [&](std::uint64_t bits, std::vector<std::uint64_t>& owners,
                                      std::uint64_t& total) {
                    if ((state & bits) != 0) {
                        ++total;
                        if (room_for(owners.size())) {
                            owners.push_back(owner);
                            listed = true;
                        }
                    }
                };
                note(kSystemTasks | kDirtyTasks, tasked_, into_.tasked_total);
                note(kExiting, exiting_, into_.exiting_total);
                if ((state & kSuspended) != 0) {
                    ++into_.suspended_total;
                    suspended_.push_back(owner);
                    listed = listed || suspended_.size() <= kMostSuspendedRead;
                }
                if ((values[2].value_or(0) & ~kSensitiveTraceFlag) != 0) {
                    traced_.push_back(row);
                }
                if (listed || named.contains(owner)) {
                    wanted.push_back(row);
                }
                return true;
            }));
        ASSIGN_OR_RETURN(const auto rows, dump_.processes().rows(wanted));
        ProcessNames names(dump_);
        for (const auto& row : rows) {
            auto line = process_line(dump_, row);
            names.add_to(line, row);
            lines_.emplace(row.owner_id(), std::move(line));
            rows_.emplace(row.owner_id(), row);
        }
        RETURN_IF_ERROR(tasks());
        for (const auto owner : exiting_) {
            into_.exiting.push_back(line_of(owner));
        }
        return {};
    }

    Result<void> tasks() {
        for (const auto owner : tasked_) {
            ASSIGN_OR_RETURN(const auto run, ProcessRun::load(dump_.reader(), rows_.at(owner)));
            into_.tasked.push_back({line_of(owner), system_tasks_of(dump_, run.process)});
        }
        return name_requesters();
    }

    Result<void> name_requesters() {
        std::set<std::uint64_t> owners;
        each_requester([&](std::uint64_t owner, SystemTaskLine&) { owners.insert(owner); });
        ASSIGN_OR_RETURN(const auto names, ProcessNames(dump_).of(owners));
        each_requester([&](std::uint64_t owner, SystemTaskLine& task) {
            if (const auto name = names.find(owner); name != names.end()) {
                task.display_name = name->second;
            }
        });
        return {};
    }

    void each_requester(const std::function<void(std::uint64_t, SystemTaskLine&)>& visit) {
        for (auto& process : into_.tasked) {
            if (!process.tasks) {
                continue;
            }
            for (auto& task : *process.tasks) {
                if (const auto owner = task.requester ? parse_pid(*task.requester) : std::nullopt) {
                    visit(*owner, task);
                }
            }
        }
    }

    /// What tells traces apart.
    struct TraceKey {
        std::uint64_t session = 0;
        std::optional<std::uint64_t> owner_id, port_number;
        std::optional<std::uint32_t> module;
        auto operator<=>(const TraceKey&) const = default;
    };
    struct Traced {
        std::optional<std::uint32_t> session_name;
        std::uint64_t processes = 0;
        std::uint64_t flags = 0;
    };

    static TraceKey key_of(std::uint64_t session, const records::Tracer& tracer) {
        TraceKey key{.session = session, .owner_id = {}, .port_number = {}, .module = {}};
        if (tracer.has_owner_id()) {
            key.owner_id = tracer.owner_id();
        }
        if (tracer.has_port_number()) {
            key.port_number = tracer.port_number();
        }
        if (tracer.has_module_atom()) {
            key.module = tracer.module_atom();
        }
        return key;
    }

    /// Reads all processes that are traced, some at a time.
    Result<void> read_traced(std::map<TraceKey, Traced>& found) {
        constexpr std::size_t kAtATime = 1024;
        into_.traced_total = traced_.size();
        for (std::span<const std::uint64_t> left(traced_); !left.empty();
             left = left.subspan(std::min(kAtATime, left.size()))) {
            ASSIGN_OR_RETURN(const auto rows,
                             dump_.processes().rows(left.first(std::min(kAtATime, left.size()))));
            for (const auto& row : rows) {
                ASSIGN_OR_RETURN(const auto run, ProcessRun::load(dump_.reader(), row));
                if (run.process.tracing().empty()) {
                    ++into_.traced_unread;
                }
                for (const auto& tracing : run.process.tracing()) {
                    auto& traced = found[key_of(tracing.session_address(), tracing.tracer())];
                    ++traced.processes;
                    traced.flags |= tracing.flags();
                    if (tracing.has_session_name_atom()) {
                        traced.session_name = tracing.session_name_atom();
                    }
                }
            }
        }
        return {};
    }

    Result<void> add_trace(const TraceKey& key, const Traced& traced, ProcessNames& names) {
        auto& line = into_.traces.emplace_back();
        if (traced.session_name) {
            line.session = atom_text(dump_, *traced.session_name);
        }
        if (key.owner_id) {
            auto& tracer = line.tracer.emplace();
            tracer.pid = pid_text(*key.owner_id);
            ASSIGN_OR_RETURN(const auto at, dump_.processes().find(records::PROCESS_COLUMN_OWNER_ID,
                                                                   *key.owner_id));
            if (at) {
                ASSIGN_OR_RETURN(const auto rows, dump_.processes().rows(std::array{*at}));
                tracer = process_line(dump_, rows.front());
                names.add_to(tracer, rows.front());
            }
        }
        if (key.port_number) {
            line.port = port_text(*key.port_number);
        }
        if (key.module) {
            auto module = atom_text(dump_, *key.module);
            if (module != "erl_tracer") {
                line.module = std::move(module);
            }
        }
        line.processes = traced.processes;
        line.flags = flag_text(dump_, FlagWord::kTrace, traced.flags & ~kSensitiveTraceFlag);
        return {};
    }

    void add_traced_functions() {
        if (!emulator_.has_traced_functions()) {
            return;
        }
        into_.traced_functions_total = emulator_.traced_functions();
        for (const auto& traced : emulator_.traced_function()) {
            if (!room_for(into_.traced_functions.size())) {
                return;
            }
            const auto function = mfa_text(dump_, traced.function()).value_or("?");
            if (traced.trace().empty()) {
                into_.traced_functions.push_back({function, std::nullopt, std::nullopt});
            }
            for (const auto& trace : traced.trace()) {
                auto& line = into_.traced_functions.emplace_back(function);
                if (trace.has_session_name_atom()) {
                    line.session = atom_text(dump_, trace.session_name_atom());
                }
                line.flags = flag_text(dump_, FlagWord::kBreakpoint, trace.flags() & ~kCounterRuns);
            }
        }
    }

    /// What the dump has of a process; its pid alone if it is not listed.
    ProcessLine line_of(std::uint64_t owner) {
        if (const auto known = lines_.find(owner); known != lines_.end()) {
            return known->second;
        }
        ProcessLine line;
        line.pid = pid_text(owner);
        return line;
    }

    void permissions() {
        for (const auto& permission : emulator_.permission()) {
            auto& line = into_.permissions.emplace_back();
            line.name = permission_name(permission.kind());
            line.held = permission.held();
            line.holder_stored = permission.holder_stored();
            line.waiters = permission.waiters();
            line.waiting_jobs = permission.waiting_jobs();
            if (permission.has_holder_owner_id()) {
                holders_.insert(permission.holder_owner_id());
                reasons_[permission.holder_owner_id()].push_back(
                    {SuspensionKind::kHoldsPermission, line.name,
                     fmt::format("holds the permission {}", line.name)});
                line.holder = line_of(permission.holder_owner_id());
            }
            std::set<std::uint64_t> waiting;
            for (const auto owner : permission.waiter_owner_id()) {
                waiting.insert(owner);
                reasons_[owner].push_back({SuspensionKind::kPermission, line.name,
                                           fmt::format("waits for the permission {}", line.name)});
                if (room_for(line.waiting.size())) {
                    line.waiting.push_back(line_of(owner));
                }
            }
            waiting_.push_back(std::move(waiting));
        }
        for (std::size_t at = 0; at < into_.permissions.size(); ++at) {
            auto& line = into_.permissions[at];
            if (line.held && !line.holder_stored) {
                may_hold(waiting_[at], line);
            }
        }
    }

    void may_hold(const std::set<std::uint64_t>& waiting, PermissionLine& line) {
        for (const auto owner : suspended_) {
            const auto known = lines_.find(owner);
            if (known != lines_.end() && !waiting.contains(owner) && !holders_.contains(owner) &&
                takes_code_permission(known->second.current_function)) {
                line.may_hold.push_back(known->second);
            }
        }
    }

    Result<void> progress() {
        if (emulator_.progress_size() == 0) {
            return {};
        }
        const auto& last = *emulator_.progress().rbegin();
        const auto stopped = dump_.trailer().cost().total_stopped_ns();
        // The value itself, or one that it had before.
        const bool exact = std::ranges::any_of(dump_.capture().found_by(), [](const auto& found) {
            return found.name() == "erts_thr_prgr__";
        });
        const auto managed = static_cast<std::int64_t>(dump_.node().schedulers());
        for (const auto& thread : last.thread()) {
            ProgressLine line;
            line.scheduler = thread.scheduler();
            const auto behind = is_behind(last, thread, exact);
            line.state = !thread.has_confirmed() ? "sleeping"
                         : !behind               ? "unknown"
                         : *behind               ? "behind"
                                                 : "confirmed";
            line.held_up_for_us = held_up_for(emulator_, thread.scheduler(), stopped, exact);
            line.leader = thread.leader();
            line.blocking = thread.blocking();
            if (thread.leader() && !line.held_up_for_us && thread.has_stopped_at() &&
                (thread.stopped_at() == 0 || thread.stopped_at() > managed)) {
                into_.other_thread = thread.stopped_at();
            }
            for (const auto& scheduler : schedulers_) {
                if (scheduler.kind != "normal" || scheduler.scheduler != line.scheduler) {
                    continue;
                }
                if (const auto owner =
                        scheduler.process ? parse_pid(*scheduler.process) : std::nullopt) {
                    line.process = line_of(*owner);
                }
                line.port = scheduler.port;
                line.frees = scheduler.frees;
                line.off_heap_circle = scheduler.off_heap_circle;
                line.off_heap_circle_address = scheduler.off_heap_circle_address;
            }
            into_.progress.push_back(std::move(line));
        }
        return {};
    }

    /// Connections and ports whose busy queues suspend processes, and processes that suspend
    /// others.
    Result<void> suspended() {
        for (const auto offset : dump_.trailer().distribution_offset()) {
            ASSIGN_OR_RETURN(const auto page,
                             dump_.reader().message_at<records::DistributionEntries>(
                                 offset, format::RecordKind::kDistributionEntries));
            for (const auto& entry : page.entry()) {
                for (const auto owner : entry.suspended_owner_id()) {
                    auto node = atom_text(dump_, entry.name_atom());
                    auto text = fmt::format("waits for the busy connection to {}", node);
                    reasons_[owner].push_back(
                        {SuspensionKind::kConnection, std::move(node), std::move(text)});
                }
            }
        }
        for (const auto offset : dump_.trailer().ports_offset()) {
            ASSIGN_OR_RETURN(const auto page, dump_.reader().message_at<records::Ports>(
                                                  offset, format::RecordKind::kPorts));
            for (const auto& port : page.port()) {
                for (const auto owner : port.suspended_owner_id()) {
                    auto name = port_text(port.number());
                    auto text = "waits for the busy " + name;
                    reasons_[owner].push_back(
                        {SuspensionKind::kPort, std::move(name), std::move(text)});
                }
            }
        }
        for (const auto owner : suspended_) {
            const auto known = rows_.find(owner);
            if (!room_for(into_.suspended.size()) || known == rows_.end()) {
                break;
            }
            auto& line = into_.suspended.emplace_back();
            line.process = line_of(owner);
            if (const auto reasons = reasons_.find(owner); reasons != reasons_.end()) {
                line.reasons = reasons->second;
            }
            RETURN_IF_ERROR(suspenders(line.process.pid, line.reasons));
        }
        return {};
    }

    Result<void> suspenders(const std::string& pid, std::vector<Suspension>& reasons) {
        ASSIGN_OR_RETURN(const auto process, open_process(dump_, pid));
        TermPrinter printer(process->context(), without_style(process->scheme));
        ProcessDetails details;
        RETURN_IF_ERROR(read_relations(dump_, process->run, printer, 0, details));
        for (const auto& monitor : details.monitored_by.items) {
            if (monitor.kind == "suspend") {
                reasons.push_back({SuspensionKind::kProcess, monitor.other,
                                   "suspended by " + other_process(monitor)});
            }
        }
        return {};
    }

    static std::string other_process(const MonitorLine& monitor) {
        return monitor.display_name ? monitor.other + " " + *monitor.display_name : monitor.other;
    }

    static constexpr std::size_t kMostSuspendedRead = 1024;

    Dump& dump_;
    records::Emulator emulator_;
    std::uint64_t limit_;
    EmulatorReport& into_;
    std::vector<SchedulerLine> schedulers_;
    std::vector<std::uint64_t> tasked_, exiting_, suspended_;
    std::vector<std::uint64_t> traced_;  ///< rows
    std::unordered_map<std::uint64_t, ProcessLine> lines_;
    std::unordered_map<std::uint64_t, records::ProcessRow> rows_;
    std::map<std::uint64_t, std::vector<Suspension>> reasons_;
    std::set<std::uint64_t> holders_;               ///< of any permission
    std::vector<std::set<std::uint64_t>> waiting_;  ///< for each of the permissions
};

/// A type of NIF resources.
struct ResourceLine {
    std::string module;
    std::string name;
    std::optional<std::uint64_t> living;
    std::optional<bool> loaded;
    std::optional<std::string> destructor;
};

std::optional<std::string> destructor_of(const records::ResourceType& type) {
    if (!type.has_destructor_address()) {
        return std::nullopt;
    }
    if (type.destructor_address() == 0) {
        return "none";
    }
    if (!type.has_destructor_file()) {
        return fmt::format("{:#x}", type.destructor_address());
    }
    const auto place = fmt::format("{}+{:#x}", type.destructor_file(), type.destructor_offset());
    return type.has_destructor_symbol() ? fmt::format("{} ({})", type.destructor_symbol(), place)
                                        : place;
}

constexpr auto kResourceFields = std::to_array<Field<ResourceLine>>({
    field<&ResourceLine::module>({.name = "module",
                                  .title = "MODULE",
                                  .kind = ColumnKind::kTextOfAll,
                                  .shrinks = true,
                                  .sentence = "Whose library made the type, an atom as Erlang "
                                              "prints it"}),
    field<&ResourceLine::name>({.name = "name",
                                .title = "TYPE",
                                .kind = ColumnKind::kTextOfAll,
                                .shrinks = true,
                                .sentence = "Its name, an atom as Erlang prints it"}),
    field<&ResourceLine::living>({.name = "living",
                                  .title = "LIVING",
                                  .kind = ColumnKind::kCount,
                                  .sentence = "Resources that are not freed, by the type's "
                                              "reference count"}),
    field<&ResourceLine::loaded>({.name = "loaded",
                                  .title = "LOADED",
                                  .kind = ColumnKind::kFlag,
                                  .sentence = "False: its library was unloaded, and resources "
                                              "remain"}),
    field<&ResourceLine::destructor>(
        {.name = "destructor",
         .title = "DESTRUCTOR",
         .shrinks = true,
         .sentence = "The native function that frees one: its file, and how far behind the file's "
                     "first byte in memory it begins, with its name where the file has one; none: "
                     "the type has no destructor"}),
});
constexpr auto kResourceColumns = columns_of(kResourceFields);

}  // namespace

// erts_try_seize_code_write_permission() in beam_bif_load.c and erl_bif_trace.c, OTP 25.
bool takes_code_permission(const std::optional<std::string>& function) {
    static constexpr std::array<std::string_view, 9> kFunctions = {
        "erlang:bif_return_trap/2",  // of a BIF that is suspended until there is thread progress

        "erlang:finish_loading/1",       "erlang:delete_module/1",
        "erlang:finish_after_on_load/2", "erts_internal:purge_module/2",
        "erts_internal:trace_pattern/3", "erts_internal:trace/3",
        "erlang:trace_pattern/3",        "erlang:trace_info/2"};
    return function && std::ranges::find(kFunctions, *function) != kFunctions.end();
}

Result<EmulatorReport> emulator_report(Dump& dump, const std::string& file, std::uint64_t limit) {
    ASSIGN_OR_RETURN(auto emulator, emulator_of(dump));
    EmulatorReport report;
    report.dump = dump_facts(dump, file);
    Reading reading(dump, std::move(emulator), limit, report);
    RETURN_IF_ERROR(reading.run());
    RETURN_IF_ERROR(reading.traces());
    return report;
}

Result<EmulatorReport> known_of_emulator(Dump& dump, const std::string& file) {
    auto emulator = emulator_of(dump);
    if (!emulator && emulator.error().code != ErrorCode::kNotFound) {
        return std::unexpected(std::move(emulator.error()));
    }
    EmulatorReport report;
    report.dump = dump_facts(dump, file);
    RETURN_IF_ERROR(
        Reading(dump, emulator ? std::move(*emulator) : records::Emulator(), 0, report).run());
    if (!emulator) {
        report.untold.push_back(emulator.error().message);
    }
    return report;
}

std::span<const Column> resource_columns() {
    return kResourceColumns;
}

Result<RowList> list_resources(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kResourceColumns, query));
    if (dump.trailer().resource_types_offset_size() == 0) {
        if (dump.trailer().emulator_offset_size() != 0) {
            ASSIGN_OR_RETURN(const auto emulator, emulator_of(dump));
            const auto why = std::ranges::find_if(emulator.untold(), [](const std::string& text) {
                return text.starts_with("types of NIF resources");
            });
            if (why != emulator.untold().end()) {
                return fail(ErrorCode::kNotFound, "the dump has no " + *why);
            }
        }
        return not_in_dump(dump, "types of NIF resources");
    }
    for (const auto offset : dump.trailer().resource_types_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::ResourceTypes>(
                                              offset, format::RecordKind::kResourceTypes));
        for (const auto& type : page.type()) {
            ResourceLine line{.module = atom_text(dump, type.module_atom()),
                              .name = atom_text(dump, type.name_atom()),
                              .living = {},
                              .loaded = {},
                              .destructor = destructor_of(type)};
            if (type.has_living()) {
                line.living = type.living();
            }
            if (type.has_loaded()) {
                line.loaded = type.loaded();
            }
            list.add(row_of(kResourceFields, line));
        }
    }
    return list;
}

}  // namespace beamdump::query
