#include "query/processes/processes.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "query/processes/process_groups.h"
#include "render/groups.h"
#include "render/processes.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

/// "ets (of tables that it owns)" for each.
std::vector<std::string> described_columns() {
    std::vector<std::string> texts;
    for (const auto& column : query::listed_columns()) {
        if (column.shown == query::Shown::kOnRequest) {
            texts.push_back(column.what.empty()
                                ? std::string(column.asked.name)
                                : fmt::format("{} ({})", column.asked.name, column.what));
        }
    }
    return texts;
}

class ProcessesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"processes", "List processes, largest first",
                "processes node.beamdump --filter 'memory>1MiB'\n"
                "processes node.beamdump --group-by initial_call\n"
                "processes node.beamdump --columns stack,links"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_sort(app, sort_,
                 fmt::format("Sort by up to {} columns of --filter (default memory); - before one "
                             "reverses it; groups by memory, count, reductions, queue or name",
                             query::kMostSortColumns));
        app.add_option("--columns", columns_,
                       fmt::format("Show further columns, separated by commas: {}",
                                   fmt::join(described_columns(), ", ")))
            ->option_text("NAMES");
        app.add_option("--group-by", group_by_,
                       "Show groups of processes: initial_call, "
                       "current_function, status, supervisor, ancestor (the outermost with a "
                       "name), label or application. The last four read all processes")
            ->option_text("WHAT");
        app.add_flag("--sensitive", groups_.sensitive,
                     "With --group-by: also read processes that are flagged sensitive");
        add_filter(
            app, filters_,
            fmt::format("Only processes with TEXT in a column, or 'COLUMN OP VALUE': =, !=, "
                        "<, >, <=, >= or ~ (has it; * stands for any text). Columns: {}",
                        fmt::join(query::column_names(query::process_filter_columns()), ", ")));
        add_count(app, "--limit", query_.limit, "Show at most N (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        for (const std::string& text : filters_) {
            ASSIGN_OR_RETURN(auto filter, query::parse_filter(text));
            query_.filters.push_back(std::move(filter));
        }
        if (group_by_.empty()) {
            ASSIGN_OR_RETURN(query_.sort, query::parse_sort(sort_));
            return columns_.empty() ? Result<void>()
                                    : query::parse_columns(columns_, query_.columns);
        }
        if (!columns_.empty()) {
            return fail(ErrorCode::kUsage,
                        "--columns is of processes, not of groups: leave out "
                        "--columns or --group-by");
        }
        ASSIGN_OR_RETURN(groups_.by, query::parse_group_by(group_by_));
        ASSIGN_OR_RETURN(groups_.sort, query::parse_group_sort(sort_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (!group_by_.empty()) {
            return run_groups(invocation);
        }
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, what_is_read(query_)));
        ReadingProgress progress(invocation, "reading processes");
        query_.names = true;
        const auto form = form_of(*dump);
        if (query::read_columns(query_.filters, query_.sort, form).reads_processes(form)) {
            query_.progress = progress.callback();
        }
        auto listing = query::ProcessListing::select(*dump, query_);
        progress.end();
        if (!listing) {
            return std::unexpected(listing.error());
        }
        RETURN_IF_ERROR(check_told(listing->matching(), listing->untold()));
        const auto render = answer_.json ? render::processes_json : render::processes_text;
        RETURN_IF_ERROR(
            render(fitted(invocation.out(), answer_), *listing, query::dump_facts(*dump, dump_)));
        const auto is_whole = [](const query::RowFilter& filter) {
            return filter.comparison() == query::Comparison::kEqual;
        };
        if (!answer_.json && listing->matching() == 0 &&
            std::ranges::any_of(query_.filters, is_whole)) {
            invocation.out().write(
                "= is for a whole value; ~ finds those that have it as a part\n");
        }
        return listing->read() ? report_processes_read(invocation, *listing->read()) : Outcome{};
    }

  private:
    /// None that the filters let pass, where the dump has not what they look at, is no answer.
    static Result<void> check_told(std::uint64_t matching, const std::string& untold) {
        return matching != 0 || untold.empty()
                   ? Result<void>()
                   : fail(ErrorCode::kNotFound,
                          fmt::format("processes cannot be filtered by {}: the dump does not tell "
                                      "it of any of them",
                                      untold));
    }

    /// What of a crash dump is read for columns that are shown, sorted by or filtered by: it has
    /// the size of a stack nowhere but in its lines.
    /// `heaps`: those of all processes besides.
    static crash::ConvertChoice what_is_read(const query::ProcessQuery& query, bool heaps = false) {
        DumpForm form;
        form.indexed_stack_sizes = false;
        auto columns = query.columns;
        columns.add(query::read_columns(query.filters, query.sort, form));
        auto choice = heaps || columns.has(query::ProcessColumn::kStack) ? all_heaps() : no_heaps();
        choice.other_sections = columns.has(query::ProcessColumn::kEts);
        return choice;
    }

    Result<Outcome> run_groups(Invocation& invocation) {
        const bool reads = query::reads_processes(groups_.by);
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, what_is_read(query_, reads)));
        ReadingProgress progress(invocation, "reading processes");
        groups_.filters = query_.filters;
        groups_.limit = query_.limit;
        groups_.progress = progress.callback();
        auto answer = query::process_groups(*dump, dump_, groups_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        RETURN_IF_ERROR(check_told(answer->matching, answer->untold));
        if (groups_.by == query::GroupBy::kApplication && !answer->told && answer->matching != 0) {
            return fail(ErrorCode::kNotFound,
                        "processes cannot be grouped by application: the dump does not tell the "
                        "group leader of any of them");
        }
        const auto render =
            answer_.json ? render::process_groups_json : render::process_groups_text;
        render(fitted(invocation.out(), answer_), *answer);
        return answer->read ? report_processes_read(invocation, *answer->read) : Outcome{};
    }

    std::string dump_;
    AnswerOptions answer_;
    std::string sort_ = "memory";
    std::vector<std::string> filters_;
    std::string group_by_;
    std::string columns_;
    query::ProcessQuery query_;
    query::GroupsOptions groups_;
};

}  // namespace

std::unique_ptr<Command> processes_command() {
    return std::make_unique<ProcessesCommand>();
}

}  // namespace beamdump::cli
