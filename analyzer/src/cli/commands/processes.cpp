#include "query/node/processes.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
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
        app.add_option("--sort", sort_, "memory (default), reductions, queue, name or pid")
            ->option_text("ORDER");
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
        ASSIGN_OR_RETURN(auto sort, query::parse_sort(sort_));
        query_.sort = sort;
        for (const std::string& text : filters_) {
            ASSIGN_OR_RETURN(auto filter, query::parse_filter(text));
            query_.filters.push_back(std::move(filter));
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(auto listing, query::ProcessListing::select(*dump, query_));
        const auto render = answer_.json ? render::processes_json : render::processes_text;
        auto done =
            render(fitted(invocation.out(), answer_), listing, query::dump_facts(*dump, dump_));
        return done ? Result<Outcome>(Outcome{}) : std::unexpected(done.error());
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string sort_ = "memory";
    std::vector<std::string> filters_;
    query::ProcessQuery query_;
};

}  // namespace

std::unique_ptr<Command> processes_command() {
    return std::make_unique<ProcessesCommand>();
}

}  // namespace beamdump::cli
