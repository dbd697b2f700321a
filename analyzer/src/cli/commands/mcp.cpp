#include "cli/command_table.h"
#include "cli/mcp/dump_answers.h"

#include <libdump/base/return_if_error.h>
#include <mcp/server.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace beamdump::cli {

namespace {

class McpCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"mcp",
                "Serve the other commands to an assistant over standard input and output, by the "
                "Model Context Protocol",
                "mcp --redacted-only --folder dumps node.beamdump\n"
                "mcp node.beamdump\n"
                "mcp --folder dumps --max-seconds 30"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("DUMP", dumps_, "Dumps that are open from the start");
        app.add_option("--folder", folders_,
                       "A folder whose dumps may be opened, also those below it. Repeatable; "
                       "without it only DUMP")
            ->type_size(1)
            ->allow_extra_args(false)
            ->option_text("DIR");
        app.add_flag("--redacted-only", redacted_only_, "Open no dump that is not redacted");
        app.add_flag("--allow-write", allow_write_,
                     "Also serve the commands that write files, into the folders of --folder");
        app.add_flag("--output-schemas", tells_answers_,
                     "List the tools with the types of their answers' members, too: three times as "
                     "long a list");
        app.add_option("--max-seconds", seconds_,
                       "Give up an answer that takes longer, 1 to 86400 (default 120)")
            ->check(CLI::Range(1, kDay).description(""))
            ->option_text("N");
        app.add_option("--page-bytes", page_bytes_,
                       "Divide answers into pages of N bytes (default 12000, which suits a model; "
                       "up to 16777216 for a program)")
            ->check(CLI::Range(mcp::kPageBytes, mcp::kMostAnswerBytes).description(""))
            ->option_text("N");
    }

    Result<void> check_options() override {
        for (const auto& dump : dumps_) {
            if (dump == "-") {
                return fail(ErrorCode::kUsage,
                            "mcp reads messages from standard input: name the dump's file");
            }
        }
        if (allow_write_ && folders_.empty()) {
            return fail(ErrorCode::kUsage, "--allow-write needs --folder: files are written there");
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (invocation.out().is_terminal()) {
            return fail(ErrorCode::kUsage,
                        "mcp speaks to a program: an assistant's client starts it, with pipes for "
                        "standard input and output");
        }
        ASSIGN_OR_RETURN(
            auto answers,
            DumpAnswers::make(
                {.dumps = dumps_,
                 .folders = folders_,
                 .writing = allow_write_ ? Writing::kAllowed : Writing::kRefused,
                 .unredacted = redacted_only_ ? Unredacted::kRefused : Unredacted::kOpened,
                 .tells_answers = tells_answers_,
                 .page_bytes = page_bytes_,
                 .open = invocation.open_options()},
                {}));
        mcp::Session session(std::move(answers), invocation.out(), std::chrono::seconds(seconds_));
        RETURN_IF_ERROR(mcp::serve(session, STDIN_FILENO, STDOUT_FILENO));
        return Outcome{};
    }

  private:
    static constexpr int kDay = 24 * 60 * 60;

    std::vector<std::string> dumps_;
    std::vector<std::string> folders_;
    bool redacted_only_ = false;
    bool allow_write_ = false;
    bool tells_answers_ = false;
    int seconds_ = 120;
    std::size_t page_bytes_ = mcp::kPageBytes;
};

}  // namespace

std::unique_ptr<Command> mcp_command() {
    return std::make_unique<McpCommand>();
}

}  // namespace beamdump::cli
