#include "query/findings/summary.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "render/summary.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class SummaryCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"summary",
                "Show the node, what deserves a look, its memory and its largest processes",
                "summary node.beamdump\n"
                "summary node.beamdump --findings full\n"
                "summary node.beamdump --json"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_findings_depth(app, findings_);
        app.add_flag("--sensitive", options_.sensitive,
                     "Also look at the terms of processes that are flagged sensitive");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(options_.depth, query::parse_findings_depth(findings_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        const bool full = options_.depth == query::FindingsDepth::kFull;
        auto choice = full ? all_heaps() : no_heaps();
        choice.other_sections = true;
        // A second's work; beyond it callers and messages are looked at by full findings only.
        choice.whole_up_to = 64U << 20U;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        options_.terms = invocation.opened().back().has_terms();
        ReadingProgress progress(invocation, "looking for problems");
        options_.limits = invocation.limits();
        if (full) {
            options_.progress = progress.callback();
        }
        auto summary = query::summarize(*dump, dump_, options_);
        progress.end();
        if (!summary) {
            return std::unexpected(summary.error());
        }
        (answer_.json ? render::summary_json : render::summary_text)(
            fitted(invocation.out(), answer_), *summary);
        return report_findings_left_out(invocation, summary->findings);
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string findings_ = "quick";
    query::FindingsOptions options_;
};

}  // namespace

std::unique_ptr<Command> summary_command() {
    return std::make_unique<SummaryCommand>();
}

}  // namespace beamdump::cli
