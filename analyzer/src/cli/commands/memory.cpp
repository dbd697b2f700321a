#include "query/memory/memory.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "query/holders/found_references.h"
#include "render/memory.h"

#include <libdump/base/return_if_error.h>

#include <utility>

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
        auto choice = options_.binaries || options_.blocks ? all_heaps() : no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        options_.limits = invocation.limits();
        query::FoundReferences references;
        bool compares = false;
        if (options_.blocks) {
            ASSIGN_OR_RETURN(compares, query::has_blocks_of_one_moment(*dump));
        }
        if (compares) {
            ReadingProgress progress(invocation, "reading processes");
            auto counted = query::found_references(*dump, invocation.limits(), progress.callback());
            progress.end();
            if (!counted) {
                return std::unexpected(std::move(counted.error()));
            }
            references = std::move(*counted);
            options_.found = references.lacks ? nullptr : &references.by_binary;
        }
        if (references.lacks) {
            invocation.report(
                "reference counts of binaries are not compared with the references to them: the "
                "dump does not have " +
                *references.lacks);
        }
        ASSIGN_OR_RETURN(const auto found, query::memory(*dump, dump_, options_));
        const auto render = answer_.json ? render::memory_json : render::memory_text;
        render(fitted(invocation.out(), answer_), found);
        return Outcome{references.lacks.has_value()};
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
