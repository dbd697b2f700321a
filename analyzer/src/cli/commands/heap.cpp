#include "query/heap/heap.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "render/heap.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class HeapCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"heap",
                "Show what uses a process's heap: roots and their sizes, live and dead words, "
                "kinds of terms, the largest terms and their paths",
                "heap node.beamdump my_server --retained\n"
                "heap node.beamdump '<0.123.0>' --limit 5\n"
                "heap node.beamdump my_server --terms --limit 100"};
    }

    void add_options(CLI::App& app) override {
        add_dump_and_process(app, dump_, process_);
        add_count(app, "--limit", options_.limit,
                  "Show at most N lines of each list (0: all roots; default 20)");
        add_term_bytes(app, options_.term_bytes, answer_, "term");
        app.add_flag("--retained", options_.retained, "Also compute retained sizes");
        app.add_flag("--terms", options_.terms,
                     "Also list the heap's top-level terms in address order, dead ones marked");
        app.add_flag("--sensitive", options_.sensitive,
                     "Show the terms of a process that is flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        // The list of all terms goes over the heap's regions.
        ASSIGN_OR_RETURN(auto dump,
                         invocation.open(dump_, options_.terms ? heap_of(process_)
                                                               : large_heap_lazily_of(process_)));
        RETURN_IF_ERROR(terms_.apply(
            invocation, *dump,
            answer_.json ? TermOptions::Resources::kPlain : TermOptions::Resources::kWithType));
        options_.limits = invocation.limits();
        ASSIGN_OR_RETURN(auto report, query::heap_report(*dump, dump_, process_, options_));
        (answer_.json ? render::heap_json : render::heap_text)(fitted(invocation.out(), answer_),
                                                               report);
        if (report.unreadable > 0) {
            invocation.report(fmt::format(
                "the sizes do not include {} with terms that are invalid or not in the dump",
                counted(report.unreadable, "place")));
        }
        return Outcome{report.withheld || report.unreadable > 0};
    }

  private:
    std::string dump_;
    std::string process_;
    AnswerOptions answer_;
    TermOptions terms_;
    query::HeapOptions options_;
};

}  // namespace

std::unique_ptr<Command> heap_command() {
    return std::make_unique<HeapCommand>();
}

}  // namespace beamdump::cli
