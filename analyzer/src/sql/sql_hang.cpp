#include "sql/sql_hang.h"

#include "query/rows/cells.h"
#include "query/waits/hang.h"
#include "sql/sql_rows.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sql {

namespace {

using query::cell;
using query::Cell;
using query::Column;
using query::ColumnKind;

constexpr std::array kWaitColumns = {
    Column{
        .name = "place",
        .sentence = "What waits: a pid, permission code_staging, thread progress, scheduler 2..."},
    Column{.name = "place_kind",
           .one_of = "process other permission thread_progress scheduler connection global_lock "
                     "ended endless"},
    Column{.name = "wait",
           .sentence = "How it waits for, or depends on, the next one",
           .one_of = "reply start permission global_lock holder thread_progress held_up_by runs "
                     "frees run_queue "
                     "system_task suspended_by busy_connection busy_port"},
    Column{.name = "waits_for", .sentence = "The next one"},
    Column{.name = "waits_for_kind",
           .one_of = "process other permission thread_progress scheduler connection global_lock "
                     "ended endless"},
    Column{.name = "certain", .kind = ColumnKind::kFlag, .sentence = "Otherwise it may be so"},
    Column{.name = "task", .sentence = "The system task that was asked for"},
    Column{.name = "held_up_us",
           .kind = ColumnKind::kSpan,
           .sentence = "For how long at least thread progress is held up"},
    Column{.name = "followed",
           .kind = ColumnKind::kFlag,
           .sentence = "Whether chains go on with this one of several"},
    Column{.name = "behind",
           .kind = ColumnKind::kCount,
           .sentence = "Processes that wait for the place, directly or not"},
    Column{.name = "ends_at",
           .sentence = "Where the chain from the place ends; absent where it leads into a cycle"},
    Column{
        .name = "steps", .kind = ColumnKind::kCountIfAny, .sentence = "How many steps lead there"},
    Column{.name = "in_cycle",
           .kind = ColumnKind::kFlag,
           .sentence = "Whether the chain comes back to the place"}};

std::string missing_of(const query::WaitLines& found) {
    auto parts = withheld_sentences(found.read);
    for (const auto& sentence : found.untold) {
        parts.push_back(fmt::format("not known: {}", sentence));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::span<const Column> hang_columns() {
    return kWaitColumns;
}

Result<std::unique_ptr<Rows>> open_hang(const Source& source, const Request& /*request*/) {
    ASSIGN_OR_RETURN(const auto found,
                     query::find_wait_lines(
                         *source.dump, {.sensitive = source.sensitive, .limits = source.limits}));
    std::vector<query::Row> rows;
    Room room(*source.memory);
    for (const auto& line : found.lines) {
        const auto& edge = line.edge;
        rows.push_back(
            {cell(line.place.name), Cell(std::string(query::wait_place_kind_name(line.place.kind))),
             Cell(std::string(query::wait_kind_name(edge.kind))), cell(edge.to.name),
             Cell(std::string(query::wait_place_kind_name(edge.to.kind))), Cell(edge.certain),
             edge.task.empty() ? Cell() : Cell(edge.task), cell(edge.us), Cell(line.followed),
             cell(line.behind), line.end ? Cell(line.end->name) : Cell(),
             line.end ? cell(line.steps) : Cell(), Cell(line.in_cycle)});
        RETURN_IF_ERROR(room.take(rows.back()));
    }
    return std::make_unique<HeldRows>(std::move(rows), std::move(room), missing_of(found));
}

}  // namespace beamdump::sql
