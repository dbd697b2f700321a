#include "query/node/diff.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/diff.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class DiffCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"diff", "Compare two dumps of one node: started, exited, grown",
                "diff monday.beamdump tuesday.beamdump"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("BEFORE", before_, "The earlier dump")->required();
        app.add_option("AFTER", after_, "The later dump")->required();
        add_count(app, "--limit", limit_,
                  "Show at most N processes of each kind (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto before, invocation.open(before_, no_heaps()));
        ASSIGN_OR_RETURN(auto after, invocation.open(after_, no_heaps()));
        ASSIGN_OR_RETURN(auto diff, query::diff_dumps(*before, before_, *after, after_, limit_));
        (answer_.json ? render::diff_json : render::diff_text)(fitted(invocation.out(), answer_),
                                                               diff);
        return Outcome{};
    }

  private:
    std::string before_;
    std::string after_;
    AnswerOptions answer_;
    std::uint64_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Command> diff_command() {
    return std::make_unique<DiffCommand>();
}

}  // namespace beamdump::cli
