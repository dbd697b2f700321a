#include "cli/sql_prompt.h"

#include "cli/line_editor.h"
#include "render/shared/table.h"
#include "render/sql.h"
#include "sql/sql_question.h"
#include "sql/sql_row_terms.h"
#include "sql/sql_table.h"
#include "sql/sql_terms.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

namespace beamdump::cli {

namespace {

constexpr std::array<std::string_view, 28> kKeywords = {
    "SELECT", "FROM",  "WHERE", "ORDER", "GROUP",    "BY",     "LIMIT",   "OFFSET", "JOIN", "LEFT",
    "ON",     "USING", "AS",    "AND",   "OR",       "NOT",    "IN",      "LIKE",   "GLOB", "IS",
    "NULL",   "DESC",  "ASC",   "WITH",  "DISTINCT", "HAVING", "BETWEEN", "UNION"};
constexpr std::array<std::string_view, 10> kFunctions = {
    "avg", "coalesce", "count", "group_concat", "length", "lower", "max", "min", "substr", "sum"};
constexpr std::string_view kHelp =
    "A statement ends with `;`, and may have several lines: SELECT name, memory FROM ets_tables;\n"
    "Tab completes names of tables, columns and functions. Ctrl-C cancels, Ctrl-D ends.\n"
    ".tables  the tables and their columns\n"
    ".quit    end\n";

bool begins_with(std::string_view name, std::string_view word) {
    return word.size() <= name.size() &&
           std::ranges::equal(name.substr(0, word.size()), word, [](char one, char other) {
               return std::tolower(static_cast<unsigned char>(one)) ==
                      std::tolower(static_cast<unsigned char>(other));
           });
}

/// Whether a statement has this word.
bool names(std::string_view statement, std::string_view word) {
    const auto is_part = [](char c) {
        return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
    };
    for (auto at = statement.find(word); at != std::string_view::npos;
         at = statement.find(word, at + 1)) {
        const auto end = at + word.size();
        if ((at == 0 || !is_part(statement[at - 1])) &&
            (end == statement.size() || !is_part(statement[end]))) {
            return true;
        }
    }
    return false;
}

/// Turns SIGINT into a stop request for the statement that is being answered, in this process and
/// all its later threads, as long as it exists. Before stops_statements() it ends the process.
class Interrupts {
  public:
    Interrupts() {
        sigemptyset(&interrupt_);
        sigaddset(&interrupt_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &interrupt_, &former_);
        waiting_ = std::jthread([this](const std::stop_token& end) { wait(end); });
    }
    ~Interrupts() {
        waiting_.request_stop();
        // Only that thread gets it.
        pthread_kill(waiting_.native_handle(), SIGINT);
        waiting_.join();
        pthread_sigmask(SIG_SETMASK, &former_, nullptr);
    }
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    void stops_statements() { stops_statements_ = true; }

    /// For the next statement.
    std::stop_token begin() {
        const std::scoped_lock lock(mutex_);
        statement_ = std::stop_source();
        return statement_.get_token();
    }

  private:
    void wait(const std::stop_token& end) {
        int signal = 0;
        while (sigwait(&interrupt_, &signal) == 0 && !end.stop_requested()) {
            if (!stops_statements_) {
                pthread_sigmask(SIG_UNBLOCK, &interrupt_, nullptr);
                std::raise(SIGINT);
            }
            const std::scoped_lock lock(mutex_);
            statement_.request_stop();
        }
    }

    sigset_t interrupt_{};
    sigset_t former_{};
    std::atomic<bool> stops_statements_ = false;
    std::mutex mutex_;
    std::stop_source statement_;
    std::jthread waiting_;
};

/// What a line without a statement asks for. False: the end.
bool obey(const std::string& command, render::Output& out, render::Output& err) {
    if (command == ".quit" || command == ".exit") {
        return false;
    }
    if (command == ".tables") {
        render::sql_tables_text(out);
    } else if (command == ".help") {
        out.write(kHelp);
    } else {
        err.print("there is no {}: use .tables, .help or .quit\n", render::one_line(command));
    }
    return true;
}

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    const auto last = text.find_last_not_of(" \t\r\n");
    return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

class Prompt {
  public:
    Prompt(render::Output& out, render::Output& err, const AnswerStatement& answer)
        : out_(out), err_(err), answer_(answer) {}

    Result<void> run(const std::function<Result<void>()>& begin) {
        RETURN_IF_ERROR(begin());
        interrupts_.stops_statements();
        ASSIGN_OR_RETURN(auto lines,
                         LineEditor::open([this](std::string_view line, std::string_view word) {
                             return completions(statement_ + std::string(line), word);
                         }));
        out_.write("Enter .help for help.\n");
        for (;;) {
            out_.flush();
            err_.flush();
            auto line = lines->read(statement_.empty() ? "sql> " : "...> ");
            if (line.kind == EnteredLine::Kind::kEnd) {
                out_.write("\n");
                return {};
            }
            if (line.kind == EnteredLine::Kind::kCancelled) {
                statement_.clear();
                continue;
            }
            if (!take(line.text, *lines)) {
                return {};
            }
        }
    }

  private:
    /// False: the user has ended the prompt.
    bool take(const std::string& line, LineEditor& lines) {
        if (statement_.empty() && line.starts_with('.')) {
            const auto command = trimmed(line);
            lines.remember(command);
            return obey(command, out_, err_);
        }
        statement_ += line;
        if (trimmed(statement_).empty()) {
            statement_.clear();
        } else if (sql::is_whole_statement(statement_)) {
            const auto statement = trimmed(statement_);
            statement_.clear();
            lines.remember(statement);
            if (const auto answered = answer_(statement, interrupts_.begin()); !answered) {
                err_.print("{}\n", render::one_line(answered.error().message));
            }
        }
        return true;
    }

    render::Output& out_;
    render::Output& err_;
    const AnswerStatement& answer_;
    Interrupts interrupts_;
    std::string statement_;
};

}  // namespace

std::vector<std::string> completions(std::string_view statement, std::string_view word) {
    std::set<std::string> found;
    const auto add = [&](std::string_view name) {
        if (begins_with(name, word)) {
            found.emplace(name);
        }
    };
    const bool any = std::ranges::any_of(sql::tables(), [statement](const sql::Table& table) {
        return names(statement, table.name);
    });
    for (const sql::Table& table : sql::tables()) {
        add(table.name);
        if (!any || names(statement, table.name)) {
            for (const auto& column : table.columns) {
                add(column.name);
            }
        }
    }
    for (const auto& function : sql::term_functions()) {
        add(function.name);
    }
    for (const auto& function : sql::row_functions()) {
        add(function.name);
    }
    std::ranges::for_each(kFunctions, add);
    if (!word.empty()) {
        std::ranges::for_each(kKeywords, add);
    }
    return {found.begin(), found.end()};
}

Result<void> answer_at_prompt(render::Output& out, render::Output& err,
                              const std::function<Result<void>()>& begin,
                              const AnswerStatement& answer) {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
        return fail(ErrorCode::kUsage,
                    "the prompt needs a terminal: name a statement, or --file FILE (/dev/stdin)");
    }
    return Prompt(out, err, answer).run(begin);
}

}  // namespace beamdump::cli
