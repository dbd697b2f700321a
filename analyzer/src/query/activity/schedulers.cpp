#include "query/activity/schedulers.h"

#include "query/facts/sections.h"
#include "query/process/known_processes.h"
#include "query/rows/cells.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_flags.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <array>
#include <map>
#include <unordered_map>

namespace beamdump::query {

namespace {

constexpr std::size_t kProcessPlace = 4;
constexpr std::size_t kDisplayNamePlace = 6;
constexpr std::array<Column, 17> kSchedulerColumns = {
    {{.name = "kind",
      .title = "KIND",
      .sentence = "A scheduler's, or the run queue that all dirty schedulers of a kind share",
      .one_of = "normal dirty_cpu dirty_io dirty_cpu_queue dirty_io_queue unknown"},
     {.name = "scheduler",
      .title = "SCHEDULER",
      .kind = ColumnKind::kId,
      .sentence = "Its number: those of dirty schedulers follow those of the kinds before",
      .minimum = 1},
     {.name = "state",
      .title = "STATE",
      .sentence = "running: it has a process or a port, or frees the memory of a process that has "
                  "ended; suspended: offline or blocked; awake: it looks for work",
      .one_of = "running sleeping awake suspended"},
     {.name = "online",
      .kind = ColumnKind::kFlag,
      .sentence = "False if it is suspended: offline, or while another one blocks all"},
     {.name = "process", .title = "PROCESS", .sentence = "The pid of the process that it runs"},
     {.name = "name", .sentence = "The registered name of that process"},
     {.name = "process_display_name",
      .title = "NAME",
      .shrinks = true,
      .derived = true,
      .sentence =
          "What tables call that process: its registered name, else its label, else RabbitMQ's "
          "process_name, else its initial call; aliases of an Elixir node as Elixir writes them"},
     {.name = "port", .title = "PORT", .sentence = "The port that it runs, #Port<0.N>"},
     {.name = "queue",
      .title = "QUEUE",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Processes and ports that wait in its run queue"},
     {.name = "max",
      .title = "MAX",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of them, processes of priority max"},
     {.name = "high",
      .title = "HIGH",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of them, processes of priority high"},
     {.name = "normal",
      .title = "NORMAL",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of them, processes of priority normal"},
     {.name = "low",
      .title = "LOW",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of them, processes of priority low"},
     {.name = "ports",
      .title = "PORTS",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of them, ports"},
     {.name = "aux_work",
      .sentence = "What it has to do besides processes, as the VM's sources call it: DD_THR_PRGR | "
                  "MISC; empty: nothing"},
     {.name = "frees",
      .sentence = "The pid of a process that has ended, and whose memory it frees"},
     {.name = "off_heap_circle",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Of that process, or of one that exits: the list of off-heap objects leads back "
                  "into itself, over so many members, and is walked for ever"}}};

/// erl_vm.h: at most 1,024 of each of the three kinds.
constexpr std::size_t kMostSchedulers = 4096;

constexpr std::array<std::string_view, 4> kKinds = {"unknown", "normal", "dirty_cpu", "dirty_io"};

std::string_view kind_text(records::SchedulerKind kind) {
    const auto at = static_cast<std::size_t>(kind);
    return at < kKinds.size() ? kKinds.at(at) : kKinds.front();
}

/// A scheduler's state where all of it is known.
std::optional<std::string> state_of(std::optional<bool> busy, std::optional<bool> sleeping,
                                    std::optional<bool> suspended) {
    if (!busy || !sleeping || !suspended) {
        return std::nullopt;
    }
    return std::string(*busy        ? "running"
                       : *suspended ? "suspended"
                       : *sleeping  ? "sleeping"
                                    : "awake");
}

std::unexpected<Error> too_many() {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the dump has over {} schedulers or run queues", kMostSchedulers));
}

/// Lines of the records.
class Recorded {
  public:
    /// kCorrupt: more of them than a node can have.
    Result<void> take(const records::Schedulers& page) {
        if (schedulers_.size() + page.scheduler().size() > kMostSchedulers ||
            queues_.size() + page.run_queue().size() > kMostSchedulers) {
            return too_many();
        }
        for (const auto& scheduler : page.scheduler()) {
            schedulers_.push_back(scheduler);
            ++counts_[scheduler.kind()];
        }
        queues_.insert(queues_.end(), page.run_queue().begin(), page.run_queue().end());
        return {};
    }

    std::vector<SchedulerLine> lines() {
        std::map<std::uint32_t, const records::RunQueue*> own;
        for (const auto& queue : queues_) {
            if (queue.has_number()) {
                own.emplace(queue.number(), &queue);
            }
        }
        std::vector<SchedulerLine> lines;
        for (const auto& scheduler : schedulers_) {
            auto line = line_of(scheduler);
            if (scheduler.kind() == records::SCHEDULER_KIND_NORMAL) {
                if (const auto queue = own.find(scheduler.number()); queue != own.end()) {
                    put(*queue->second, line);
                }
            }
            lines.push_back(std::move(line));
        }
        for (const auto& queue : queues_) {
            if (!queue.has_number()) {
                SchedulerLine line;
                line.kind = fmt::format("{}_queue", kind_text(queue.kind()));
                put(queue, line);
                lines.push_back(std::move(line));
            }
        }
        return lines;
    }

  private:
    SchedulerLine line_of(const records::Scheduler& scheduler) {
        SchedulerLine line;
        line.kind = kind_text(scheduler.kind());
        if (scheduler.has_number_of_all()) {
            line.scheduler = scheduler.number_of_all();
        } else if (scheduler.has_number()) {
            if (const auto before = numbers_before(scheduler.kind())) {
                line.scheduler = *before + scheduler.number();
            }
        }
        const auto known = [](bool has, bool value) {
            return has ? std::optional(value) : std::nullopt;
        };
        line.state = state_of(known(scheduler.has_busy(), scheduler.busy()),
                              known(scheduler.has_sleeping(), scheduler.sleeping()),
                              known(scheduler.has_suspended(), scheduler.suspended()));
        if (scheduler.has_suspended()) {
            line.online = !scheduler.suspended();
        }
        if (scheduler.has_aux_work_flags()) {
            line.aux_work = flag_names(FlagWord::kAuxWork, scheduler.aux_work_flags(), {});
        }
        if (scheduler.has_current_owner_id()) {
            line.process = pid_text(scheduler.current_owner_id());
        }
        if (scheduler.has_current_port_number()) {
            line.port = port_text(scheduler.current_port_number());
        }
        if (scheduler.has_freed_owner_id()) {
            line.frees = pid_text(scheduler.freed_owner_id());
        }
        if (scheduler.has_off_heap_circle()) {
            line.off_heap_circle = scheduler.off_heap_circle();
            line.off_heap_circle_address = scheduler.off_heap_circle_address();
        }
        return line;
    }

    /// Schedulers of the kinds before, whose numbers come first; nothing if those are not known.
    std::optional<std::uint64_t> numbers_before(records::SchedulerKind kind) {
        std::uint64_t before = 0;
        for (const auto other : {records::SCHEDULER_KIND_NORMAL, records::SCHEDULER_KIND_DIRTY_CPU,
                                 records::SCHEDULER_KIND_DIRTY_IO}) {
            if (other == kind) {
                return before;
            }
            if (counts_[other] == 0) {
                return std::nullopt;
            }
            before += counts_[other];
        }
        return std::nullopt;
    }

    static void put(const records::RunQueue& queue, SchedulerLine& line) {
        const auto known = [](bool has, std::uint32_t value) {
            return has ? std::optional<std::uint64_t>(value) : std::nullopt;
        };
        line.queue = known(queue.has_length(), queue.length());
        line.max = known(queue.has_max_length(), queue.max_length());
        line.high = known(queue.has_high_length(), queue.high_length());
        line.normal = known(queue.has_normal_length(), queue.normal_length());
        line.low = known(queue.has_low_length(), queue.low_length());
        line.ports = known(queue.has_port_length(), queue.port_length());
    }

    std::vector<records::Scheduler> schedulers_;
    std::vector<records::RunQueue> queues_;
    std::map<records::SchedulerKind, std::uint64_t> counts_;
};

Row row_of(const SchedulerLine& line, const KnownProcesses& known) {
    return {line.kind,
            cell(line.scheduler),
            cell(line.state),
            cell(line.online),
            cell(line.process),
            line.process ? known.name_of(*line.process) : Cell(),
            Cell(),  // its display name
            cell(line.port),
            cell(line.queue),
            cell(line.max),
            cell(line.high),
            cell(line.normal),
            cell(line.low),
            cell(line.ports),
            cell(line.aux_work),
            cell(line.frees),
            cell(line.off_heap_circle)};
}

}  // namespace

std::span<const Column> scheduler_columns() {
    return kSchedulerColumns;
}

Result<std::vector<SchedulerLine>> scheduler_lines(Dump& dump) {
    if (dump.trailer().schedulers_offset().empty()) {
        return not_in_dump(dump, "schedulers");
    }
    Recorded recorded;
    for (const auto offset : dump.trailer().schedulers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Schedulers>(
                                              offset, format::RecordKind::kScheduler));
        RETURN_IF_ERROR(recorded.take(page));
    }
    return recorded.lines();
}

Result<RowList> list_schedulers(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kSchedulerColumns, query));
    ASSIGN_OR_RETURN(const auto known, KnownProcesses::read(dump));
    ASSIGN_OR_RETURN(const auto lines, scheduler_lines(dump));
    for (const auto& line : lines) {
        list.add(row_of(line, known));
    }
    RETURN_IF_ERROR(name_processes(dump, list, {.pid = kProcessPlace, .name = kDisplayNamePlace}));
    return list;
}

}  // namespace beamdump::query
