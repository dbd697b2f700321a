#include "sql/sql_samples.h"

#include "query/activity/profile.h"
#include "query/rows/cells.h"
#include "sql/sql_rows.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/owner_id.h>

#include <array>
#include <functional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sql {

namespace {

using query::cell;
using query::Cell;
using query::Column;
using query::ColumnKind;

constexpr std::array kColumns = {
    Column{.name = "count", .kind = ColumnKind::kCount, .sentence = "Equal samples of one thread"},
    Column{.name = "thread", .sentence = "The thread's name"},
    Column{.name = "scheduler", .sentence = "scheduler 1, dirty CPU scheduler 1..."},
    Column{.name = "pid", .sentence = "The process that ran"},
    Column{.name = "registered_name"},
    Column{.name = "initial_call"},
    Column{.name = "function", .sentence = "The innermost Erlang function"},
    Column{.name = "native", .sentence = "The innermost native function"},
    Column{.name = "stack", .sentence = "Erlang functions, the outermost first, separated by ;"},
    Column{.name = "callers_known",
           .kind = ColumnKind::kFlag,
           .sentence = "Whether the stack begins at the process's first function"}};

Cell first_of(const std::vector<std::string>& names) {
    return names.empty() ? Cell() : Cell(names.front());
}

}  // namespace

std::span<const Column> sample_columns() {
    return kColumns;
}

Result<std::unique_ptr<Rows>> open_samples(const Source& source, const Request& /*request*/) {
    std::vector<query::Row> rows;
    Room room(*source.memory);
    const auto take = [&](const SampleStack& sample, const SampledThread& thread,
                          std::uint64_t count) -> Result<void> {
        std::string stack;
        for (const std::string& frame : sample.frames | std::views::reverse) {
            stack += (stack.empty() ? "" : ";") + frame;
        }
        const auto& process = sample.process;
        rows.push_back({cell(count), cell(thread.name), cell(thread.scheduler),
                        process ? Cell(pid_text(process->owner_id)) : Cell(),
                        process ? cell(process->registered) : Cell(),
                        process ? cell(process->initial_call) : Cell(), first_of(sample.frames),
                        first_of(sample.native), stack.empty() ? Cell() : Cell(stack),
                        sample.callers_known()});
        return room.take(rows.back());
    };
    RETURN_IF_ERROR(
        query::read_profile(*source.dump, source.file, SamplesBy::kNone, std::ref(take)));
    return std::make_unique<HeldRows>(std::move(rows), std::move(room));
}

}  // namespace beamdump::sql
