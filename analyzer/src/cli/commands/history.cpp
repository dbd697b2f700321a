#include "query/activity/history.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/history.h"

#include <libdump/base/return_if_error.h>

#include <limits>

namespace beamdump::cli {
namespace {

class HistoryCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"history",
                "Show what beamdump-watch read of the node before: memory, counts, and the "
                "processes that grew; also of a recording, when the node has ended",
                "history rabbit@host-20261128T063129Z.recording\n"
                "history node.beamdump --limit 3\n"
                "history node.beamdump --ndjson"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_count(app, "--limit", limit_,
                  "Show at most N processes of a table (0: all; default 10)");
        app.add_flag("--ndjson", lines_,
                     "Write a line of JSON for each reading, and for each process in a reading of "
                     "all");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        return lines_ && answer_.json
                   ? fail(ErrorCode::kUsage, "--ndjson and --json exclude each other")
                   : Result<void>();
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto* dump, invocation.open(dump_, no_heaps(), Recordings::kOpened));
        ASSIGN_OR_RETURN(const auto history, query::read_history(*dump, dump_));
        auto& out = invocation.out();
        if (lines_) {
            render::history_lines(out, history);
        } else if (answer_.json) {
            render::history_json(out, history);
        } else {
            render::history_text(fitted(out, answer_), history,
                                 limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_);
        }
        return Outcome{};
    }

  private:
    std::string dump_;
    std::uint64_t limit_ = 10;
    bool lines_ = false;
    AnswerOptions answer_;
};

}  // namespace

std::unique_ptr<Command> history_command() {
    return std::make_unique<HistoryCommand>();
}

}  // namespace beamdump::cli
