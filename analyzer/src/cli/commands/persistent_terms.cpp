#include "query/tables/persistent_terms.h"

#include "cli/command_table.h"
#include "cli/list_command.h"
#include "cli/remarks.h"
#include "cli/term_options.h"
#include "render/tables/persistent_terms.h"

#include <libdump/base/return_if_error.h>

#include <vector>

namespace beamdump::cli {

namespace {

constexpr std::size_t kListedTermBytes = 200;

class PersistentTermsCommand final : public Command {
  public:
    PersistentTermsCommand()
        : list_(
              {query::persistent_term_columns(), query::kPersistentTermSort, "persistent terms"}) {}

    [[nodiscard]] Description description() const override {
        return {"persistent-terms", "List persistent terms, largest first, or show one",
                "persistent-terms node.beamdump --filter key=my_app\n"
                "persistent-terms node.beamdump\n"
                "persistent-terms node.beamdump my_key"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("KEY", key_, "Show the term with the key that prints as KEY");
        list_.add(app);
        add_count(app, "--term-bytes", term_bytes_,
                  "Truncate each key and value to N bytes (0: never; default 200, of a KEY 0), and "
                  "do not cut lines to the width of the terminal")
            ->each([this](const std::string&) { answer_.wide = term_bytes_given_ = true; });
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        const auto query = list_.query();
        if (!key_.empty() && (!query.filters.empty() || !query.group_by.empty())) {
            return fail(ErrorCode::kUsage,
                        "--filter and --group-by are for the list of terms: name no KEY with them");
        }
        if (!term_bytes_given_) {
            term_bytes_ = key_.empty() ? kListedTermBytes : 0;
        }
        return list_.check();
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.literals = true;
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        RETURN_IF_ERROR(terms_.apply(invocation, *dump));
        const auto facts = query::dump_facts(*dump, dump_);
        auto& out = fitted(invocation.out(), answer_);
        if (!key_.empty()) {
            const auto render =
                answer_.json ? render::persistent_term_json : render::persistent_term_text;
            ASSIGN_OR_RETURN(const auto missing, render(out, *dump, key_, term_bytes_, facts));
            report_placeholders(invocation, missing);
            return Outcome{missing > 0};
        }
        const auto query = list_.query();
        ASSIGN_OR_RETURN(auto answer, query::list_persistent_terms(*dump, query, term_bytes_));
        RETURN_IF_ERROR(answer.list.check_asked("persistent terms", query::kPersistentTermSort));
        const auto render =
            answer_.json ? render::persistent_terms_json : render::persistent_terms_text;
        render(out, answer, facts, !query.group_by.empty());
        const auto& counts = answer.counts;
        if (!counts.is_whole()) {
            invocation.report("persistent terms are missing from the dump");
        }
        report_placeholders(invocation, answer.placeholders);
        return Outcome{!counts.is_whole() || answer.placeholders > 0};
    }

  private:
    std::string dump_;
    std::string key_;
    std::size_t term_bytes_ = 0;
    bool term_bytes_given_ = false;
    AnswerOptions answer_;
    TermOptions terms_;
    ListOptions list_;
};

}  // namespace

std::unique_ptr<Command> persistent_terms_command() {
    return std::make_unique<PersistentTermsCommand>();
}

}  // namespace beamdump::cli
