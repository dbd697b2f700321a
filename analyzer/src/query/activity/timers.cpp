#include "query/activity/timers.h"

#include "query/facts/sections.h"
#include "query/process/known_processes.h"
#include "query/process/process_line.h"
#include "query/rows/cells.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/process_name.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

namespace beamdump::query {

namespace {

/// The columns' places in a row.
struct Timer {
    enum Place : std::uint8_t {
        kKind,
        kReceiver,
        kName,
        kDisplayName,
        kApplication,
        kLeft,
        kOrphaned,
        kWords,
        kReference,
        kScheduler,
        kLevel,
        kPlaces
    };
};

constexpr std::array<Column, Timer::kPlaces> kTimerColumns = {
    {{.name = "kind",
      .title = "KIND",
      .sentence = "message: of erlang:send_after or erlang:start_timer; receive: of a process that "
                  "waits in a receive with a timeout; port: of a port's driver",
      .one_of = "message receive port unknown"},
     {.name = "receiver",
      .title = "RECEIVER",
      .sentence = "A pid, the registered name that the timer was set for, or #Port<0.N>"},
     {.name = "name", .sentence = "The registered name of that pid"},
     {.name = "receiver_display_name",
      .title = "NAME",
      .shrinks = true,
      .derived = true,
      .sentence =
          "What tables call that process: its registered name, else its label, else RabbitMQ's "
          "process_name, else its initial call; aliases of an Elixir node as Elixir writes them"},
     {.name = "receiver_application", .derived = true, .sentence = kApplicationSentence},
     {.name = "left_ms",
      .title = "LEFT MS",
      .kind = ColumnKind::kSpan,
      .sentence = "At most so many milliseconds until its timeout: since a scheduler of the node "
                  "last looked for timeouts"},
     {.name = "orphaned",
      .title = "ORPHANED",
      .kind = ColumnKind::kFlag,
      .sentence =
          "Of a message timer: no process has this name or pid; absent where the dump cannot tell"},
     {.name = "message_words",
      .title = "MESSAGE WORDS",
      .kind = ColumnKind::kCountIfAny,
      .sentence = "Words of its message; 0: an immediate term"},
     {.name = "reference",
      .title = "REFERENCE",
      .sentence = "The timer's reference, as the node prints it"},
     {.name = "scheduler",
      .title = "SCHEDULER",
      .kind = ColumnKind::kId,
      .sentence = "The scheduler that it belongs to",
      .minimum = 1},
     {.name = "level",
      .sentence = "low: in the scheduler's timer wheel; high: in the tree of those beyond it",
      .one_of = "low high"}}};

constexpr std::array<std::string_view, 4> kTimerKinds = {"unknown", "message", "receive", "port"};

Result<void> visit_pages(Dump& dump, const std::function<void(const records::Timers&)>& visit) {
    for (const auto offset : dump.trailer().timers_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Timers>(
                                              offset, format::RecordKind::kTimers));
        visit(page);
    }
    return {};
}

/// When the node last looked for timeouts, on the clock of the timers' own positions: an idle
/// scheduler does not, so the latest is the nearest to the time of the capture.
Result<std::optional<std::int64_t>> latest_position(Dump& dump) {
    std::optional<std::int64_t> latest;
    RETURN_IF_ERROR(visit_pages(dump, [&](const records::Timers& page) {
        for (const auto& wheel : page.wheel()) {
            if (wheel.has_position()) {
                latest = std::max(latest.value_or(wheel.position()), wheel.position());
            }
        }
    }));
    return latest;
}

Row row_of(Dump& dump, const records::Timer& timer, std::optional<std::int64_t> now,
           const KnownProcesses& known) {
    Row row(Timer::kPlaces);
    const auto kind = static_cast<std::size_t>(timer.kind());
    row[Timer::kKind] = std::string(kTimerKinds.at(kind < kTimerKinds.size() ? kind : 0));
    const bool has_message = timer.kind() == records::TIMER_KIND_MESSAGE;
    if (timer.has_receiver_owner_id()) {
        auto pid = pid_text(timer.receiver_owner_id());
        row[Timer::kName] = known.name_of(pid);
        row[Timer::kReceiver] = std::move(pid);
        if (has_message) {
            row[Timer::kOrphaned] = cell(known.is_missing(timer.receiver_owner_id()));
        }
    } else if (timer.has_receiver_name_atom()) {
        auto name = atom_text(dump, timer.receiver_name_atom());
        row[Timer::kOrphaned] = cell(known.is_missing_name(name));
        row[Timer::kReceiver] = std::move(name);
    } else if (timer.has_port_number()) {
        row[Timer::kReceiver] = port_text(timer.port_number());
    }
    if (now && timer.has_timeout_position()) {
        // As unsigned numbers: the difference of any two fits.
        row[Timer::kLeft] = timer.timeout_position() <= *now
                                ? std::uint64_t{0}
                                : static_cast<std::uint64_t>(timer.timeout_position()) -
                                      static_cast<std::uint64_t>(*now);
    }
    if (timer.has_message_words()) {
        row[Timer::kWords] = timer.message_words();
    }
    if (timer.reference_number_size() == 3) {
        row[Timer::kReference] = fmt::format("#Ref<0.{}.{}.{}>", timer.reference_number(0),
                                             timer.reference_number(1), timer.reference_number(2));
    }
    if (timer.has_scheduler()) {
        row[Timer::kScheduler] = std::uint64_t{timer.scheduler()};
    }
    if (timer.has_high_level()) {
        row[Timer::kLevel] = std::string(timer.high_level() ? "high" : "low");
    }
    return row;
}

Result<void> visit_timers(Dump& dump, const std::function<void(Row)>& add) {
    ASSIGN_OR_RETURN(const auto known, KnownProcesses::read(dump));
    if (dump.trailer().timers_offset().empty()) {
        return not_in_dump(dump, "timers");
    }
    ASSIGN_OR_RETURN(const auto now, latest_position(dump));
    return visit_pages(dump, [&](const records::Timers& page) {
        for (const auto& timer : page.timer()) {
            add(row_of(dump, timer, now, known));
        }
    });
}

}  // namespace

std::span<const Column> timer_columns() {
    return kTimerColumns;
}

Result<RowList> list_timers(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kTimerColumns, query));
    RETURN_IF_ERROR(visit_timers(dump, [&](Row row) { list.add(std::move(row)); }));
    RETURN_IF_ERROR(name_processes(dump, list,
                                   {.pid = Timer::kReceiver,
                                    .name = Timer::kDisplayName,
                                    .application = Timer::kApplication}));
    return list;
}

Result<void> visit_message_timers(Dump& dump,
                                  const std::function<void(const MessageTimer&)>& visit) {
    return visit_timers(dump, [&](const Row& row) {
        if (cell_text(row[Timer::kKind]) != "message") {
            return;
        }
        const auto* orphaned = std::get_if<bool>(&row[Timer::kOrphaned]);
        const auto* receiver = std::get_if<std::string>(&row[Timer::kReceiver]);
        if (receiver != nullptr) {
            visit({*receiver, orphaned == nullptr ? std::nullopt : std::optional(*orphaned)});
        }
    });
}

}  // namespace beamdump::query
