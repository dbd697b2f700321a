#include "query/process/backtrace.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "render/backtrace.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

/// Reports what the shown terms lack, and why.
void report_gaps(Invocation& invocation, const query::Backtrace& backtrace) {
    const query::Gaps gaps = backtrace.gaps();
    std::vector<std::string> parts;
    if (gaps.malformed > 0) {
        parts.push_back(counted(gaps.malformed, "place") + " with invalid terms");
    }
    if (gaps.absent > 0) {
        parts.push_back(counted(gaps.absent, "place") + " that the dump does not have");
    }
    if (gaps.partial_binaries > 0) {
        std::string part = counted(gaps.partial_binaries, "binary reference");
        part += " with only the first bytes";
        if (const auto prefix = backtrace.binary_prefix_bytes()) {
            part += fmt::format(" (captured with --binary-bytes {})", *prefix);
        }
        parts.push_back(std::move(part));
    }
    if (!parts.empty()) {
        invocation.report(fmt::format("marked in the terms: {}", fmt::join(parts, "; ")));
    }
}

void report_withheld(Invocation& invocation, const query::Backtrace& backtrace) {
    if (backtrace.withheld() == Withheld::kSensitive) {
        invocation.report(
            fmt::format("{} is flagged sensitive, so its stack is withheld; --sensitive shows it",
                        backtrace.line().pid));
    } else if (backtrace.withheld() == Withheld::kVoid) {
        invocation.report(fmt::format("{}: the dump does not have its stack",
                                      void_sentence(backtrace.line(), backtrace.void_detail())));
    }
}

class BacktraceCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"backtrace", "Show a process's stack, its terms untruncated",
                "backtrace node.beamdump '<0.123.0>' --lines\n"
                "backtrace node.beamdump my_server --beam _build/lib\n"
                "backtrace node.beamdump my_server --max-bytes 2000"};
    }

    void add_options(CLI::App& app) override {
        constexpr std::size_t kLargestChunk = std::size_t{1} << 30U;
        add_dump_and_process(app, dump_, process_);
        app.add_flag(
            "--lines", lines_,
            "Show file and line of each frame, instead of the text of process_info(P, backtrace)");
        app.add_option("--chunk-size", format_.chunk_bytes,
                       "Write the text in chunks of this size (default 65536)")
            ->check(CLI::Range(std::size_t{1}, kLargestChunk))
            ->option_text("BYTES");
        app.add_option("--term-limit", term_limit_,
                       "none (default), or classic: the VM's own text, with long terms truncated "
                       "and without saved x registers")
            ->check(CLI::IsMember({"none", "classic"}))
            ->option_text("LIMIT");
        add_count(app, "--max-bytes", format_.max_bytes,
                  "Stop after N bytes, with a message on standard error");
        app.add_flag("--sensitive", options_.sensitive,
                     "Show the stack of a process that is flagged sensitive");
        terms_.add(app);
        add_json(app, json_);
    }

    Result<void> check_options() override {
        format_.exact = term_limit_ == "classic";
        options_.term_limit = term_limit_ == "classic" ? kClassicTermLimit : kNoTermLimit;
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, lazy_heap_of(process_)));
        RETURN_IF_ERROR(options_.term_limit == kClassicTermLimit
                            ? terms_.apply_erlang(*dump,
                                                  "--term-limit classic is the VM's own text, "
                                                  "without --syntax elixir and --beam")
                            : terms_.apply(invocation, *dump,
                                           lines_ && !json_ ? TermOptions::Resources::kWithType
                                                            : TermOptions::Resources::kPlain));
        ASSIGN_OR_RETURN(auto opened, query::Backtrace::open(*dump, dump_, process_, options_));
        query::Backtrace& backtrace = *opened;
        const auto render = json_    ? render::backtrace_json
                            : lines_ ? render::backtrace_lines
                                     : render::backtrace_text;
        const bool cut = render(invocation.out(), backtrace, format_);
        invocation.out().flush();
        if (!invocation.out().ok()) {
            return Outcome{};
        }
        if (cut) {
            invocation.report(
                fmt::format("the text was truncated to {} bytes (--max-bytes)", format_.max_bytes));
        }
        report_withheld(invocation, backtrace);
        report_gaps(invocation, backtrace);
        return Outcome{backtrace.withheld() != Withheld::kNo || backtrace.gaps().lost() > 0};
    }

  private:
    std::string dump_;
    std::string process_;
    bool json_ = false;
    TermOptions terms_;
    bool lines_ = false;
    std::string term_limit_ = "none";
    query::BacktraceOptions options_;
    render::BacktraceFormat format_;
};

}  // namespace

std::unique_ptr<Command> backtrace_command() {
    return std::make_unique<BacktraceCommand>();
}

}  // namespace beamdump::cli
