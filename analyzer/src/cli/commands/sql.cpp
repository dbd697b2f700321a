#include "render/sql.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "cli/sql_prompt.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stop_token>
#include <unistd.h>
#include <utility>
#include <vector>

namespace beamdump::cli {

namespace {

class SqlCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"sql", "Ask one or several dumps by a SELECT statement",
                "sql node.beamdump 'SELECT pid, memory FROM processes'\n"
                "sql --tables\n"
                "sql node.beamdump --prompt"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("DUMPS", words_,
                       "The dumps, then the statement. Tables have the column dump, the file's "
                       "name as it is given here");
        app.add_option("--file", file_, "Read the statement from FILE; all words are dumps then")
            ->option_text("FILE");
        app.add_flag("--prompt", prompt_,
                     "Read statements from the terminal, with completion by Tab; all words are "
                     "dumps then. So do one dump and no statement");
        app.add_flag("--tables", tables_, "Show the tables and their columns, and end");
        app.add_flag("--json", json_, "Print JSON: NULL is an absent member");
        app.add_flag("--ndjson", ndjson_, "Print a JSON object for each row, a line each");
        app.add_flag("--csv", csv_, "Print CSV, with a line of the columns' names");
        app.add_flag("--wide", wide_, "Do not cut lines to the width of the terminal");
        app.add_flag("--sensitive", sensitive_,
                     "Also show terms of processes that are flagged sensitive");
    }

    Result<void> check_options() override {
        if (int{json_} + int{ndjson_} + int{csv_} > 1) {
            return fail(ErrorCode::kUsage, "--json, --ndjson and --csv exclude each other");
        }
        if (prompt_ && !file_.empty()) {
            return fail(ErrorCode::kUsage, "--prompt and --file exclude each other");
        }
        prompt_ = prompt_ || (!tables_ && file_.empty() && words_.size() == 1 &&
                              isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1);
        if (tables_ || (prompt_ && !words_.empty())) {
            return {};
        }
        if (file_.empty() && !prompt_) {
            if (words_.size() < 2) {
                return fail(ErrorCode::kUsage,
                            "name a dump and a statement: sql node.beamdump 'SELECT ...'");
            }
            statement_ = std::move(words_.back());
            words_.pop_back();
        } else if (words_.empty()) {
            return fail(ErrorCode::kUsage, "name a dump");
        } else {
            std::ifstream file(file_);
            statement_.assign(std::istreambuf_iterator<char>(file), {});
            if (!file) {
                return fail(ErrorCode::kIo,
                            fmt::format("cannot read {}: {}", file_, std::strerror(errno)));
            }
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (tables_) {
            render::sql_tables_text(invocation.out());
            return Outcome{};
        }
        if (prompt_) {
            render::DescriptorOutput out(STDOUT_FILENO, "standard output");
            RETURN_IF_ERROR(answer_at_prompt(
                out, invocation.err(), [&] { return open_dumps(invocation, false); },
                [&](const std::string& statement, const std::stop_token& stop) -> Result<void> {
                    auto outcome = answer(invocation, out, statement, stop);
                    return outcome ? Result<void>() : std::unexpected(outcome.error());
                }));
            return Outcome{};
        }
        return answer(invocation, invocation.out(), statement_, invocation.limits().stop);
    }

  private:
    /// Opens the dumps, or again where terms are read and crash dumps were converted without.
    Result<void> open_dumps(Invocation& invocation, bool terms) {
        if (!sources_.empty() && (has_terms_ || !terms)) {
            return {};
        }
        auto choice = terms ? all_heaps() : no_heaps();
        choice.other_sections = true;
        std::vector<sql::Source> sources;
        for (const auto& name : words_) {
            // Rows are told apart by this name.
            if (std::ranges::find(sources, name, &sql::Source::file) != sources.end()) {
                return fail(ErrorCode::kUsage, fmt::format("{} is named twice", name));
            }
            ASSIGN_OR_RETURN(auto* dump, invocation.open(name, choice));
            sources.push_back({dump, name, invocation.limits(), sensitive_});
        }
        sources_ = std::move(sources);
        has_terms_ = terms;
        return {};
    }

    Result<Outcome> answer(Invocation& invocation, render::Output& out,
                           const std::string& statement, const std::stop_token& stop) {
        ASSIGN_OR_RETURN(auto question,
                         sql::Question::prepare(
                             statement, {.memory = invocation.limits().memory, .stop = stop}));
        RETURN_IF_ERROR(open_dumps(invocation, question->reads_terms()));
        if (!wide_ && form() == render::SqlForm::kTable) {
            out.fit_terminal();
        }
        auto sources = sources_;
        for (sql::Source& source : sources) {
            source.limits.stop = stop;
        }
        ASSIGN_OR_RETURN(const auto left_out,
                         render::write_sql(out, *question, std::move(sources), form()));
        if (left_out.things != 0) {
            invocation.report(
                left_out.things == 1
                    ? "missing from the answer: " + left_out.first
                    : fmt::format("missing from the answer: parts of {} things; the first: {}",
                                  left_out.things, left_out.first));
        }
        return Outcome{.incomplete = left_out.things != 0};
    }

    [[nodiscard]] render::SqlForm form() const {
        return json_     ? render::SqlForm::kJson
               : ndjson_ ? render::SqlForm::kNdjson
               : csv_    ? render::SqlForm::kCsv
                         : render::SqlForm::kTable;
    }

    std::vector<std::string> words_;
    std::string statement_;
    std::string file_;
    std::vector<sql::Source> sources_;
    bool has_terms_ = false;
    bool prompt_ = false;
    bool tables_ = false;
    bool json_ = false;
    bool ndjson_ = false;
    bool csv_ = false;
    bool wide_ = false;
    bool sensitive_ = false;
};

}  // namespace

std::unique_ptr<Command> sql_command() {
    return std::make_unique<SqlCommand>();
}

}  // namespace beamdump::cli
