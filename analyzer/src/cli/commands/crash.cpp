#include "query/activity/crash.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/crash.h"

#include <libdump/base/return_if_error.h>

#include <limits>

namespace beamdump::cli {
namespace {

class CrashCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"crash",
                "Show how the node's process died: signal, thread, native and Erlang frames, and "
                "likely causes",
                "crash core.beamdump\n"
                "crash core.beamdump --limit 5\n"
                "crash core.beamdump --json"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_count(app, "--limit", limit_,
                  "Show at most N of the other threads (0: all; default 10)");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto* dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(const auto crash, query::read_crash(*dump, dump_));
        auto& out = fitted(invocation.out(), answer_);
        if (answer_.json) {
            render::crash_json(out, crash);
        } else {
            render::crash_text(out, crash,
                               limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_);
        }
        return Outcome{};
    }

  private:
    std::string dump_;
    std::uint64_t limit_ = 10;
    AnswerOptions answer_;
};

}  // namespace

std::unique_ptr<Command> crash_command() {
    return std::make_unique<CrashCommand>();
}

}  // namespace beamdump::cli
