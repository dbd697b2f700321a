#include "query/process/messages.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "render/messages.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::cli {

namespace {

class MessagesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"messages", "Show a process's messages, and count them by shape or sender",
                "messages node.beamdump my_server --limit 5\n"
                "messages node.beamdump my_server --by sender\n"
                "messages node.beamdump my_server --filter timeout"};
    }

    void add_options(CLI::App& app) override {
        add_dump_and_process(app, dump_, process_);
        add_count(app, "--from", options_.from,
                  "Start at entry N of the message queues (default 0, the first)");
        add_count(app, "--limit", options_.limit, "Show at most N (0: all; default 20)");
        add_filter(
            app, options_.filters,
            fmt::format("Only messages with TEXT in shape or text, or 'COLUMN OP VALUE' as in "
                        "all lists. Columns: {}",
                        fmt::join(query::column_names(query::message_columns()), ", ")));
        add_term_bytes(app, options_.term_bytes, answer_, "message");
        app.add_option("--by", by_, "Count all messages by shape (default) or sender")
            ->type_name("WHAT");
        app.add_flag_callback(
            "--no-histogram", [this] { options_.histogram = false; },
            "Do not count all messages; read only those that are shown");
        app.add_flag("--sensitive", options_.sensitive,
                     "Show the messages of a process that is flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        for (const std::string& filter : options_.filters) {
            RETURN_IF_ERROR(query::RowFilter::parse(query::message_columns(), filter));
        }
        ASSIGN_OR_RETURN(options_.by, query::parse_messages_by(by_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, lazy_heap_of(process_)));
        RETURN_IF_ERROR(terms_.apply(invocation, *dump));
        ASSIGN_OR_RETURN(auto listing,
                         query::MessageListing::open(*dump, dump_, process_, options_));
        const auto render = answer_.json ? render::messages_json : render::messages_text;
        RETURN_IF_ERROR(render(fitted(invocation.out(), answer_), *listing));
        return report_listing(invocation, *listing, "messages are");
    }

  private:
    std::string dump_;
    std::string process_;
    std::string by_ = "shape";
    AnswerOptions answer_;
    TermOptions terms_;
    query::MessagesOptions options_;
};

}  // namespace

std::unique_ptr<Command> messages_command() {
    return std::make_unique<MessagesCommand>();
}

}  // namespace beamdump::cli
