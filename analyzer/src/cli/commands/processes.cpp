#include "query/node/processes.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "query/groups/process_groups.h"
#include "render/groups/process_groups.h"
#include "render/processes.h"

#include <libdump/base/return_if_error.h>

#include <vector>

namespace beamdump::cli {

namespace {

class ProcessesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"processes", "List processes, largest first",
                "processes node.beamdump --sort queue --filter status=waiting"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("--sort", sort_,
                       "memory (default), reductions, queue, name or pid; of groups: memory, "
                       "count, reductions, queue or name")
            ->option_text("ORDER");
        app.add_option("--group-by", group_by_,
                       "Show groups of processes in place of processes: initial_call, "
                       "current_function, status, supervisor, ancestor (the outermost with a "
                       "name), label or application. The last four read all processes")
            ->option_text("WHAT");
        app.add_flag("--sensitive", groups_.sensitive,
                     "With --group-by: also read processes that are flagged sensitive");
        app.add_option(
               "--filter", filters_,
               "Only processes with TEXT in a field; FIELD=TEXT matches one field: pid, name, "
               "initial_call, current_function or status. Repeatable; all filters must match")
            ->type_size(1)
            ->allow_extra_args(false)
            ->option_text("TEXT");
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
        } else {
            ASSIGN_OR_RETURN(groups_.by, query::parse_group_by(group_by_));
            ASSIGN_OR_RETURN(groups_.sort, query::parse_group_sort(sort_));
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (!group_by_.empty()) {
            return run_groups(invocation);
        }
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(auto listing, query::ProcessListing::select(*dump, query_));
        const auto render = answer_.json ? render::processes_json : render::processes_text;
        auto done =
            render(fitted(invocation.out(), answer_), listing, query::dump_facts(*dump, dump_));
        return done ? Result<Outcome>(Outcome{}) : std::unexpected(done.error());
    }

  private:
    Result<Outcome> run_groups(Invocation& invocation) {
        const bool reads = query::reads_processes(groups_.by);
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, reads ? all_heaps() : no_heaps()));
        ReadingProgress progress(invocation, "reading processes");
        groups_.filters = query_.filters;
        groups_.limit = query_.limit;
        groups_.progress = progress.callback();
        auto answer = query::process_groups(*dump, dump_, groups_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
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
    query::ProcessQuery query_;
    query::GroupsOptions groups_;
};

}  // namespace

std::unique_ptr<Command> processes_command() {
    return std::make_unique<ProcessesCommand>();
}

}  // namespace beamdump::cli
