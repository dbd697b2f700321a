#include "query/holders/search.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/holders.h"
#include "render/search.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace beamdump::cli {

namespace {

/// A crash dump has only the atoms that its terms name.
std::string_view without_atom(const query::DumpFacts& facts) {
    if (!facts.text_complete) {
        return "the node has no atom";
    }
    return *facts.text_complete ? "no term in the crash dump has the atom"
                                : "no term before the place where the crash dump breaks off has "
                                  "the atom";
}

class SearchCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {
            "search",
            "Find terms by a pattern, or text in atoms, binaries and strings, in all processes, "
            "ETS tables and literals",
            "search node.beamdump '{state,_,#{id:=7}}'\n"
            "search node.beamdump --text password\n"
            "search node.beamdump '{error,_}' --limit 5"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        auto* pattern = app.add_option(
            "PATTERN", pattern_,
            "A pattern in Erlang's syntax or Elixir's ({:state, _, %{id: 7}}); _ and variables "
            "match any term, a map may have further keys, \"text\" is a list or a binary");
        app.add_option("--text", options_.text,
                       "Find TEXT in atoms, binaries and lists of characters")
            ->excludes(pattern)
            ->option_text("TEXT");
        add_count(app, "--limit", options_.limit,
                  "Show N terms, and search no further (0: all; without it 20 are shown, and all "
                  "counted)")
            ->each([this](const std::string&) { options_.stop_at_limit = true; });
        add_term_bytes(app, options_.term_bytes, answer_, "term");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also search processes that are flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (pattern_.empty() && options_.text.empty()) {
            return fail(ErrorCode::kUsage, "PATTERN or --text is required; see --help");
        }
        if (!pattern_.empty()) {
            ASSIGN_OR_RETURN(options_.pattern, query::parse_pattern(pattern_));
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, all_heaps()));
        RETURN_IF_ERROR(terms_.apply(invocation, *dump));
        render::Output& out = fitted(invocation.out(), answer_);
        const auto facts = query::dump_facts(*dump, dump_);
        std::optional<render::JsonWriter> json;
        if (answer_.json) {
            json.emplace(out, "beamdump.search/1");
            render::search_json_begin(*json, facts, pattern_, options_.text);
        } else {
            render::search_text_begin(out, facts);
        }
        ReadingProgress progress(invocation, "searching processes");
        options_.limits = invocation.limits();
        options_.progress = progress.callback();
        std::uint64_t shown = 0;
        options_.found = [&](const query::FoundTerm& term) {
            ++shown;
            progress.end();
            json ? render::found_json(*json, term) : render::found_text(out, facts.names, term);
        };
        auto answer = query::search_terms(*dump, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        if (json) {
            render::search_json_end(*json, *answer);
        } else {
            render::search_text_end(out, *answer, shown);
        }
        if (!answer->unknown_atoms.empty()) {
            invocation.report(fmt::format("nothing can match: {} {}", without_atom(facts),
                                          fmt::join(answer->unknown_atoms, ", ")));
        }
        if (answer->partial_binaries != 0) {
            invocation.report(fmt::format(
                "not searched: the ends of {} of which the dump has only the first bytes",
                counted(answer->partial_binaries, "binary", "binaries")));
        }
        Outcome outcome = report_search_gaps(invocation, answer->read, answer->undecoded_messages,
                                             answer->unreadable, answer->node);
        outcome.incomplete = outcome.incomplete || answer->lost_binaries != 0;
        return outcome;
    }

  private:
    std::string dump_;
    std::string pattern_;
    AnswerOptions answer_;
    TermOptions terms_;
    query::SearchOptions options_;
};

}  // namespace

std::unique_ptr<Command> search_command() {
    return std::make_unique<SearchCommand>();
}

}  // namespace beamdump::cli
