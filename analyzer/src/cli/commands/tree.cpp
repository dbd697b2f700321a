#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "query/processes/process_tree.h"
#include "render/groups.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class TreeCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"tree", "Show processes as a tree of supervision or links, with sums of memory",
                "tree node.beamdump kernel_sup --depth 2\n"
                "tree node.beamdump --links\n"
                "tree node.beamdump --depth 3 --limit 5"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("PROCESS", options_.root,
                       "Show only what is below this process: a pid or a registered name");
        app.add_flag("--links", options_.links, "A tree of links in place of parents");
        add_count(app, "--depth", options_.depth, "Show at most N levels (0: all; default 4)");
        add_count(app, "--limit", options_.limit,
                  "Show at most N processes below each (0: all; default 20)");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read the dictionaries of processes that are flagged sensitive");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, all_heaps()));
        ReadingProgress progress(invocation, "reading processes");
        options_.progress = progress.callback();
        options_.limits = invocation.limits();
        auto answer = query::process_tree(*dump, dump_, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        const auto render = answer_.json ? render::process_tree_json : render::process_tree_text;
        render(fitted(invocation.out(), answer_), *answer);
        return report_processes_read(invocation, answer->read);
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    query::TreeOptions options_;
};

}  // namespace

std::unique_ptr<Command> tree_command() {
    return std::make_unique<TreeCommand>();
}

}  // namespace beamdump::cli
