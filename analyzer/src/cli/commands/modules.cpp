#include "query/tables/modules.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/list_command.h"
#include "render/tables/modules.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class ModulesCommand final : public Command {
  public:
    ModulesCommand()
        : list_({query::module_columns(), query::kModuleSort, "modules",
                 query::kShownModuleColumns}) {}

    [[nodiscard]] Description description() const override {
        return {"modules", "List loaded modules by size of code, old code too",
                "modules node.beamdump --old --users\n"
                "modules node.beamdump --filter name~rabbit\n"
                "modules node.beamdump --sort code --limit 5"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        list_.add(app);
        app.add_flag("--old", old_, "Only old code");
        app.add_flag(
            "--users", options_.users,
            "Also list the processes that have old code on their stack (reads all stacks)");
        app.add_flag("--sensitive", options_.sensitive,
                     "With --users: also read processes that are flagged sensitive");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (old_) {
            list_.changed().filters.emplace_back("instance=old");
        }
        return list_.check();
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = options_.users ? all_heaps() : no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ReadingProgress progress(invocation, "reading stacks");
        options_.progress = progress.callback();
        const auto query = list_.query();
        auto answer = query::list_modules(*dump, query, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        RETURN_IF_ERROR(answer->list.check_asked("modules", query::kModuleSort));
        show(fitted(invocation.out(), answer_), *answer, query::dump_facts(*dump, dump_),
             !query.group_by.empty());
        Outcome outcome =
            answer->read ? report_processes_read(invocation, *answer->read) : Outcome{};
        if (answer->no_applications) {
            invocation.report("missing from the answer: applications: " +
                              answer->no_applications->message);
            outcome.incomplete = true;
        }
        return outcome;
    }

  private:
    void show(render::Output& out, query::ModuleList& answer, const query::DumpFacts& facts,
              bool groups) const {
        if (groups) {
            render::row_groups(
                out, answer.list, facts,
                {.schema = "beamdump.groups/1", .member = "modules", .things = "modules"},
                query::kModuleSort, answer_.json);
            return;
        }
        const auto render = answer_.json ? render::modules_json : render::modules_text;
        render(out, answer, facts);
    }

    std::string dump_;
    AnswerOptions answer_;
    bool old_ = false;
    ListOptions list_;
    query::ModulesOptions options_;
};

}  // namespace

std::unique_ptr<Command> modules_command() {
    return std::make_unique<ModulesCommand>();
}

}  // namespace beamdump::cli
