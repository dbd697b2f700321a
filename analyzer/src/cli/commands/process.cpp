#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "query/process/process_details.h"
#include "render/process_details.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class ProcessCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"process", "Show everything the dump says about one process",
                "process node.beamdump '<0.123.0>'\n"
                "process node.beamdump my_server\n"
                "process node.beamdump my_server --limit 100"};
    }

    void add_options(CLI::App& app) override {
        add_dump_and_process(app, dump_, process_);
        add_count(app, "--limit", options_.limit,
                  "Show at most N items of each list (0: all; default 20)");
        add_term_bytes(app, options_.term_bytes, answer_, "term");
        app.add_flag("--sensitive", options_.sensitive,
                     "Show the terms of a process that is flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, large_heap_lazily_of(process_)));
        RETURN_IF_ERROR(terms_.apply(invocation, *dump));
        ASSIGN_OR_RETURN(auto details, query::process_details(*dump, dump_, process_, options_));
        (answer_.json ? render::process_details_json : render::process_details_text)(
            fitted(invocation.out(), answer_), details);
        if (!details.regions) {
            invocation.report(
                "the heap's regions are not shown: it is large, and only the lines with these "
                "terms were read; the dump that convert makes has them");
        }
        const auto placeholders = details.all_placeholders();
        report_placeholders(invocation, placeholders);
        return Outcome{details.line.void_reason.has_value() || details.withheld ||
                       placeholders > 0};
    }

  private:
    std::string dump_;
    std::string process_;
    AnswerOptions answer_;
    TermOptions terms_;
    query::DetailsOptions options_;
};

}  // namespace

std::unique_ptr<Command> process_command() {
    return std::make_unique<ProcessCommand>();
}

}  // namespace beamdump::cli
