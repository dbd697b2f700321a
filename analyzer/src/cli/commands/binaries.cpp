#include "query/holders/binaries.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/holders.h"
#include "render/binaries.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class BinariesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"binaries",
                "List reference-counted binaries by size, the holders of one, or the processes "
                "that keep more of them than their terms show",
                "binaries node.beamdump --leaks"};
    }

    void add_options(CLI::App& app) override {
        question_.schema = "beamdump.binaries/1";
        add_dump(app, question_.dump);
        auto* address = app.add_option(
            "ADDRESS", question_.target,
            "Show every place that refers to this binary, and the part that it shows");
        app.add_flag("--leaks", leaks_,
                     "List processes, ETS tables, literals and persistent terms by the bytes of "
                     "binaries that they keep and their terms do not show: pinned by parts of "
                     "binaries, or garbage that a collection drops")
            ->excludes(address);
        app.add_option("--sort", sort_, "size (default) or references")->option_text("ORDER");
        add_size(app, "--at-least", options_.at_least,
                 "Of the list: only binaries of SIZE bytes or more, such as 64KiB");
        add_count(app, "--limit", question_.limit, "Show at most N (0: all; default 20)");
        app.add_flag("--sensitive", question_.sensitive,
                     "With ADDRESS: also search processes that are flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(options_.sort, query::parse_binary_sort(sort_));
        if (options_.at_least != 0 && (leaks_ || !question_.target.empty())) {
            return fail(ErrorCode::kUsage,
                        "--at-least chooses binaries of the list: not with ADDRESS or --leaks");
        }
        if (!question_.target.empty() && !question_.target.starts_with("0x")) {
            return fail(ErrorCode::kUsage, "\"" + question_.target +
                                               "\" is not the address of a binary, such as "
                                               "0x7f0012345678");
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (!question_.target.empty()) {
            return answer_holders(invocation, question_, answer_, terms_);
        }
        ASSIGN_OR_RETURN(auto dump, invocation.open(question_.dump, all_heaps()));
        ReadingProgress progress(invocation, "reading processes");
        options_.limit = question_.limit;
        options_.limits = invocation.limits();
        options_.progress = progress.callback();
        return leaks_ ? run_leaks(invocation, *dump, progress)
                      : run_list(invocation, *dump, progress);
    }

  private:
    Result<Outcome> run_list(Invocation& invocation, Dump& dump, ReadingProgress& progress) {
        auto answer = query::node_binaries(dump, question_.dump, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        const auto render = answer_.json ? render::binaries_json : render::binaries_text;
        render(fitted(invocation.out(), answer_), *answer);
        return answer->read ? report_processes_read(invocation, *answer->read) : Outcome{};
    }

    Result<Outcome> run_leaks(Invocation& invocation, Dump& dump, ReadingProgress& progress) {
        auto answer = query::binary_leaks(dump, question_.dump, options_);
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        const auto render = answer_.json ? render::binary_leaks_json : render::binary_leaks_text;
        render(fitted(invocation.out(), answer_), *answer);
        return report_search_gaps(invocation, answer->read, answer->undecoded_messages,
                                  answer->unreadable);
    }

    HolderQuestion question_;
    AnswerOptions answer_;
    TermOptions terms_;
    bool leaks_ = false;
    std::string sort_ = "size";
    query::BinariesOptions options_;
};

}  // namespace

std::unique_ptr<Command> binaries_command() {
    return std::make_unique<BinariesCommand>();
}

}  // namespace beamdump::cli
