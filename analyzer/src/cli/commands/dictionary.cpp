#include "query/process/dictionary.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "render/messages.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class DictionaryCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"dictionary", "Show a process's dictionary",
                "dictionary node.beamdump '<0.123.0>' --limit 0\n"
                "dictionary node.beamdump my_server --term-bytes 2000\n"
                "dictionary node.beamdump my_server --from 20 --limit 5"};
    }

    void add_options(CLI::App& app) override {
        add_dump_and_process(app, dump_, process_);
        add_count(app, "--from", options_.from, "Start at entry N (default 0, the first)");
        add_count(app, "--limit", options_.limit, "Show at most N (0: all; default 20)");
        add_term_bytes(app, options_.term_bytes, answer_, "key and value");
        app.add_flag("--sensitive", options_.sensitive,
                     "Show the dictionary of a process that is flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, lazy_heap_of(process_)));
        RETURN_IF_ERROR(terms_.apply(invocation, *dump));
        ASSIGN_OR_RETURN(auto listing,
                         query::DictionaryListing::open(*dump, dump_, process_, options_));
        const auto render = answer_.json ? render::dictionary_json : render::dictionary_text;
        RETURN_IF_ERROR(render(fitted(invocation.out(), answer_), *listing));
        return report_listing(invocation, *listing, "dictionary's entries are");
    }

  private:
    std::string dump_;
    std::string process_;
    AnswerOptions answer_;
    TermOptions terms_;
    query::DictionaryOptions options_;
};

}  // namespace

std::unique_ptr<Command> dictionary_command() {
    return std::make_unique<DictionaryCommand>();
}

}  // namespace beamdump::cli
