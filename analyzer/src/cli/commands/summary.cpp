#include "query/node/summary.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/summary.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class SummaryCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"summary", "Show the node, its memory and its largest processes",
                "summary node.beamdump"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(auto summary, query::summarize(*dump, dump_));
        (answer_.json ? render::summary_json : render::summary_text)(
            fitted(invocation.out(), answer_), summary);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
};

}  // namespace

std::unique_ptr<Command> summary_command() {
    return std::make_unique<SummaryCommand>();
}

}  // namespace beamdump::cli
