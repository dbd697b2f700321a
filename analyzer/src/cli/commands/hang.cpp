#include "query/waits/hang.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "render/hang.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class HangCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"hang",
                "Show why processes do not go on: chains of waits for answers, permissions, thread "
                "progress, system tasks and others, to their ends",
                "hang node.beamdump\n"
                "hang node.beamdump code_server\n"
                "hang node.beamdump '<0.123.0>' --json"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("PROCESS", process_,
                       "Only what this process waits for: a pid or a registered name");
        add_count(app, "--limit", options_.limit,
                  "Show at most N ends and cycles (0: all; default 20)");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read the stacks of processes that are flagged sensitive");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, all_heaps()));
        ReadingProgress progress(invocation, "reading stacks");
        options_.progress = progress.callback();
        options_.limits = invocation.limits();
        const auto process = process_.empty() ? std::nullopt : std::optional(process_);
        auto answer = query::find_hang(*dump, dump_, process, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        const auto render = answer_.json ? render::hang_json : render::hang_text;
        render(fitted(invocation.out(), answer_), *answer);
        return report_processes_read(invocation, answer->read);
    }

  private:
    std::string dump_;
    std::string process_;
    AnswerOptions answer_;
    query::WaitsOptions options_;
};

}  // namespace

std::unique_ptr<Command> hang_command() {
    return std::make_unique<HangCommand>();
}

}  // namespace beamdump::cli
