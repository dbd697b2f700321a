#include "query/tables/modules.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "render/tables/modules.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class ModulesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"modules", "List loaded modules by size of code, old code too",
                "modules node.beamdump --old --users"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("--sort", sort_, "code (default), literals, functions or name")
            ->option_text("ORDER");
        add_filter(app, options_.filters, "Only modules whose name contains TEXT");
        app.add_flag("--old", options_.old, "Only old code");
        app.add_flag(
            "--users", options_.users,
            "Also list the processes that have old code on their stack (reads all stacks)");
        app.add_flag("--sensitive", options_.sensitive,
                     "With --users: also read processes that are flagged sensitive");
        add_count(app, "--limit", options_.limit, "Show at most N (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(options_.sort, query::parse_module_sort(sort_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = options_.users ? all_heaps() : no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ReadingProgress progress(invocation, "reading stacks");
        options_.progress = progress.callback();
        auto report = query::module_report(*dump, dump_, options_);
        progress.end();
        if (!report) {
            return std::unexpected(report.error());
        }
        const auto render = answer_.json ? render::modules_json : render::modules_text;
        render(fitted(invocation.out(), answer_), *report);
        Outcome outcome =
            report->read ? report_processes_read(invocation, *report->read) : Outcome{};
        if (report->no_applications) {
            invocation.report("missing from the answer: applications: " +
                              report->no_applications->message);
            outcome.incomplete = true;
        }
        return outcome;
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string sort_ = "code";
    query::ModulesOptions options_;
};

}  // namespace

std::unique_ptr<Command> modules_command() {
    return std::make_unique<ModulesCommand>();
}

}  // namespace beamdump::cli
