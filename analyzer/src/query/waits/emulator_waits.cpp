#include "query/waits/emulator_waits.h"

#include "query/activity/emulator.h"
#include "query/activity/schedulers.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::query {

namespace {

/// Processes in these modules that asked for a system task wait for it in their receive: the BIFs
/// of erlang that ask all, and the two processes that purge code and collect literals.
bool waits_for_tasks(const ProcessLine& line) {
    static constexpr std::array<std::string_view, 4> kModules = {
        "erts_code_purger:", "erts_literal_area_collector:", "erlang:", "erts_internal:"};
    return std::ranges::any_of(kModules, [&line](std::string_view module) {
        return line.current_function && line.current_function->starts_with(module);
    });
}

/// Whether a process that is suspended in this function, and stands in no list, may wait for thread
/// progress, beside those that take the code write permission (erl_bif_persistent.c,
/// beam_bif_load.c; OTP 25 to 29).
bool may_wait_for_progress(const ProcessLine& line) {
    return takes_code_permission(line.current_function) ||
           (line.current_function &&
            (line.current_function->starts_with("persistent_term:") ||
             *line.current_function == "erts_internal:release_literal_area_switch/0"));
}

WaitPlace other_place(WaitPlaceKind kind, std::string name) {
    return {.owner = {}, .name = std::move(name), .kind = kind};
}

class EmulatorWaits {
  public:
    EmulatorWaits(Dump& dump, const EmulatorReport& report, const ProcessRows& rows,
                  WaitGraph& graph)
        : dump_(dump), report_(report), rows_(rows), graph_(graph) {}

    Result<void> run() {
        RETURN_IF_ERROR(permissions());
        RETURN_IF_ERROR(suspended());
        RETURN_IF_ERROR(progress());
        RETURN_IF_ERROR(tasks());
        return run_queues();
    }

  private:
    WaitPlace place_of(const std::string& pid) const {
        const auto owner = parse_pid(pid);
        return owner && rows_.contains(*owner) ? process_place(*owner)
                                               : other_place(WaitPlaceKind::kOther, pid);
    }
    static WaitPlace scheduler_place(std::uint64_t number) {
        return other_place(WaitPlaceKind::kScheduler, fmt::format("scheduler {}", number));
    }
    static WaitPlace permission_place(const std::string& name) {
        return other_place(WaitPlaceKind::kPermission, "permission " + name);
    }

    Result<void> permissions() {
        for (const auto& permission : report_.permissions) {
            const auto place = permission_place(permission.name);
            if (permission.holder && !permission.waiting.empty()) {
                RETURN_IF_ERROR(
                    graph_.add(place, {WaitKind::kHolder, place_of(permission.holder->pid)}));
            }
            for (const auto& process : permission.may_hold) {
                may_hold_.push_back(process.pid);
                if (!permission.waiting.empty()) {
                    RETURN_IF_ERROR(
                        graph_.add(place, {WaitKind::kHolder, place_of(process.pid), false}));
                }
            }
        }
        return {};
    }

    Result<void> suspended() {
        for (const auto& line : report_.suspended) {
            const auto from = place_of(line.process.pid);
            bool holds = false;
            bool waits = false;
            for (const auto& reason : line.reasons) {
                holds = holds || reason.kind == SuspensionKind::kHoldsPermission;
                waits = waits || reason.kind != SuspensionKind::kHoldsPermission;
                // That it waits for a port may be known by its call.
                if (auto edge = edge_of(reason); edge && !is_known(from, *edge)) {
                    RETURN_IF_ERROR(graph_.add(from, std::move(*edge)));
                }
            }
            const bool may_hold = std::ranges::find(may_hold_, line.process.pid) != may_hold_.end();
            if (!waits && (holds || may_hold || may_wait_for_progress(line.process))) {
                // One that holds a permission is suspended for nothing else.
                RETURN_IF_ERROR(
                    graph_.add(from, {WaitKind::kProgress, progress_place(), holds || may_hold}));
            }
        }
        return {};
    }

    [[nodiscard]] bool is_known(const WaitPlace& from, const WaitEdge& edge) const {
        return std::ranges::any_of(graph_.edges_of(from), [&edge](const WaitEdge& known) {
            return known.kind == edge.kind && known.to == edge.to;
        });
    }

    std::optional<WaitEdge> edge_of(const Suspension& reason) const {
        switch (reason.kind) {
            case SuspensionKind::kHoldsPermission:
                return std::nullopt;
            case SuspensionKind::kPermission:
                return WaitEdge{WaitKind::kPermission, permission_place(reason.what)};
            case SuspensionKind::kConnection:
                return WaitEdge{WaitKind::kConnection, other_place(WaitPlaceKind::kConnection,
                                                                   "connection to " + reason.what)};
            case SuspensionKind::kPort:
                return WaitEdge{WaitKind::kPort, other_place(WaitPlaceKind::kOther, reason.what)};
            case SuspensionKind::kProcess:
                return WaitEdge{WaitKind::kSuspender, place_of(reason.what)};
        }
        std::unreachable();
    }

    Result<void> progress() {
        const auto is_held_up = [](const ProgressLine& line) {
            return line.held_up_for_us.has_value();
        };
        // In one reading a scheduler may be behind for a moment.
        const auto may_hold_up = [](const ProgressLine& line) {
            return line.state == "behind" || (line.leader && line.state != "sleeping");
        };
        const bool known = std::ranges::any_of(report_.progress, is_held_up);
        for (const auto& line : report_.progress) {
            if (known ? !is_held_up(line) : !may_hold_up(line)) {
                continue;
            }
            const auto scheduler = scheduler_place(line.scheduler);
            RETURN_IF_ERROR(graph_.add(
                progress_place(), {WaitKind::kHeldUp, scheduler, known, {}, line.held_up_for_us}));
            if (auto runs = what_runs(line)) {
                RETURN_IF_ERROR(graph_.add(scheduler, std::move(*runs)));
            }
        }
        return {};
    }

    std::optional<WaitEdge> what_runs(const ProgressLine& line) const {
        if (line.off_heap_circle && (line.process || line.frees)) {
            const auto& pid = line.frees ? *line.frees : line.process->pid;
            return WaitEdge{line.frees ? WaitKind::kFrees : WaitKind::kRuns,
                            other_place(WaitPlaceKind::kEndless, pid)};
        }
        if (line.process) {
            return WaitEdge{WaitKind::kRuns, place_of(line.process->pid)};
        }
        if (line.port) {
            return WaitEdge{WaitKind::kRuns, other_place(WaitPlaceKind::kOther, *line.port)};
        }
        return line.frees ? std::optional(WaitEdge{WaitKind::kFrees,
                                                   other_place(WaitPlaceKind::kEnded, *line.frees)})
                          : std::nullopt;
    }

    /// Who asked for a system task waits for it, first for those of processes that run.
    Result<void> tasks() {
        std::map<std::string, ProcessLine> requesters;
        std::vector<std::pair<WaitPlace, WaitEdge>> of_others;
        for (const auto& tasked : report_.tasked) {
            const auto target = place_of(tasked.process.pid);
            for (const auto& task : tasked.tasks.value_or(std::vector<SystemTaskLine>())) {
                const auto from = task.requester ? place_of(*task.requester) : WaitPlace();
                if (!from.owner || from == target) {
                    continue;
                }
                auto known = requesters.find(from.name);
                if (known == requesters.end()) {
                    ASSIGN_OR_RETURN(auto line, rows_.line(dump_, *from.owner));
                    known = requesters.emplace(from.name, std::move(line)).first;
                }
                if (known->second.status != "waiting") {
                    continue;
                }
                WaitEdge edge{
                    WaitKind::kTask, target, waits_for_tasks(known->second),
                    task.module ? fmt::format("{} of {}", task.kind, *task.module) : task.kind};
                if (tasked.process.status == "running") {
                    RETURN_IF_ERROR(graph_.add(from, std::move(edge)));
                } else {
                    of_others.emplace_back(from, std::move(edge));
                }
            }
        }
        for (auto& [from, edge] : of_others) {
            RETURN_IF_ERROR(graph_.add(from, std::move(edge)));
        }
        return {};
    }

    /// While one scheduler is held and all other run queues are empty, what is ready to run is in
    /// its queue, or in that of dirty schedulers.
    Result<void> run_queues() {
        const auto held = std::ranges::find_if(report_.progress, [](const ProgressLine& line) {
            return line.held_up_for_us.has_value();
        });
        const auto schedulers = scheduler_lines(dump_);
        if (held == report_.progress.end() || !schedulers) {
            return {};
        }
        for (const auto& line : *schedulers) {
            const bool full = line.queue.value_or(0) != 0;
            if (line.kind == "normal" && full != (line.scheduler == held->scheduler)) {
                return {};
            }
        }
        const WaitEdge edge{WaitKind::kRunQueue, scheduler_place(held->scheduler), false};
        constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                         records::PROCESS_COLUMN_STATUS};
        Result<void> added;
        RETURN_IF_ERROR(
            dump_.processes().visit(kColumns, [&](std::uint64_t, ProcessIndex::Values values) {
                if (values[1] == std::uint64_t{records::PROCESS_STATUS_RUNNABLE}) {
                    added = graph_.add(process_place(values[0].value_or(0)), edge);
                }
                return added.has_value();
            }));
        return added;
    }

    Dump& dump_;
    const EmulatorReport& report_;
    const ProcessRows& rows_;
    WaitGraph& graph_;
    std::vector<std::string> may_hold_;
};

}  // namespace

Result<void> add_emulator_waits(Dump& dump, const ProcessRows& rows, WaitGraph& graph,
                                std::vector<std::string>& untold) {
    ASSIGN_OR_RETURN(const auto report, known_of_emulator(dump, std::string()));
    untold.insert(untold.end(), report.untold.begin(), report.untold.end());
    if (report.other_thread) {
        untold.push_back(fmt::format(
            "thread {}, which is no scheduler, keeps thread progress from going on; what it does",
            *report.other_thread));
    }
    return EmulatorWaits(dump, report, rows, graph).run();
}

}  // namespace beamdump::query
