#include "query/memory/memory.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/memory.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class MemoryCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"memory",
                "Show where the node's memory is: by category as erlang:memory/0, and by holder up "
                "to what the operating system counts",
                "memory node.beamdump --binaries\n"
                "memory node.beamdump --blocks\n"
                "memory node.beamdump --limit 50"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_count(app, "--limit", options_.limit,
                  "Show at most N of the largest processes (0: all that the dump ranks; "
                  "default 10), kinds of processes, ETS tables and groups of blocks (0: all)");
        app.add_flag("--binaries", options_.binaries,
                     "Also count reference-counted binaries by size, which reads all of them");
        app.add_flag("--blocks", options_.blocks,
                     "Also blocks in use that no term refers to, of a capture with --blocks");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = options_.binaries ? all_heaps() : no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        options_.limits = invocation.limits();
        ASSIGN_OR_RETURN(const auto found, query::memory(*dump, dump_, options_));
        const auto render = answer_.json ? render::memory_json : render::memory_text;
        render(fitted(invocation.out(), answer_), found);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    query::MemoryOptions options_;
};

}  // namespace

std::unique_ptr<Command> memory_command() {
    return std::make_unique<MemoryCommand>();
}

}  // namespace beamdump::cli
