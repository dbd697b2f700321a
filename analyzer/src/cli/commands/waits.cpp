#include "query/waits/waits.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "render/groups.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class WaitsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"waits", "Find processes that wait in a call, for whom, and in which cycles",
                "waits node.beamdump --limit 5\n"
                "waits node.beamdump\n"
                "waits node.beamdump --limit 0 --json"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_count(app, "--limit", options_.limit,
                  "Show at most N processes that others wait for (0: all; default 20)");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read the stacks of processes that are flagged sensitive");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, all_heaps()));
        ReadingProgress progress(invocation, "reading stacks");
        options_.progress = progress.callback();
        options_.limits = invocation.limits();
        auto answer = query::find_waits(*dump, dump_, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        const auto render = answer_.json ? render::waits_json : render::waits_text;
        render(fitted(invocation.out(), answer_), *answer);
        return report_processes_read(invocation, answer->read);
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    query::WaitsOptions options_;
};

}  // namespace

std::unique_ptr<Command> waits_command() {
    return std::make_unique<WaitsCommand>();
}

}  // namespace beamdump::cli
