#include "query/summary.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/summary.h"

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
        auto dump = invocation.open(dump_, no_heaps());
        if (!dump) {
            return std::unexpected(dump.error());
        }
        auto summary = query::summarize(**dump, dump_);
        if (!summary) {
            return std::unexpected(summary.error());
        }
        (answer_.json ? render::summary_json : render::summary_text)(
            fitted(invocation.out(), answer_), *summary);
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
