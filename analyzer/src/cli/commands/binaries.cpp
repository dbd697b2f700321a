#include "query/holders/binaries.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/holders.h"
#include "cli/list_command.h"
#include "render/binaries.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::cli {

namespace {

class BinariesCommand final : public Command {
  public:
    BinariesCommand() : list_({query::node_binary_columns(), query::kNodeBinarySort, "binaries"}) {}

    [[nodiscard]] Description description() const override {
        return {"binaries",
                "List reference-counted binaries by size, the holders of one, or the processes "
                "that keep more of them than their terms show",
                "binaries node.beamdump --leaks\n"
                "binaries node.beamdump --sort references\n"
                "binaries node.beamdump 0x7fc6848001c0"};
    }

    void add_options(CLI::App& app) override {
        question_.schema = "beamdump.binaries/1";
        add_dump(app, question_.dump);
        auto* address = app.add_option(
            "ADDRESS", question_.target,
            "Show every place that refers to this binary, and the part that it shows");
        app.add_flag("--leaks", leaks_,
                     "List processes, ETS tables, literals and persistent terms by the bytes of "
                     "binaries that they keep and do not show: pinned by parts, or garbage")
            ->excludes(address);
        add_size(app, "--at-least", at_least_,
                 "Of the list: only binaries of SIZE bytes or more, such as 64KiB");
        list_.add(app);
        app.add_flag("--sensitive", question_.sensitive,
                     "With ADDRESS: also search processes that are flagged sensitive");
        add_most_bytes(app, question_);
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        auto& list = list_.changed();
        if (at_least_ != 0) {
            list.filters.push_back(fmt::format("size_bytes>={}", at_least_));
        }
        if ((leaks_ || !question_.target.empty()) &&
            (!list.filters.empty() || !list.group_by.empty())) {
            return fail(ErrorCode::kUsage,
                        "--at-least, --filter and --group-by are for the list of binaries: not "
                        "with ADDRESS or --leaks");
        }
        RETURN_IF_ERROR(check_most_bytes(question_));
        RETURN_IF_ERROR(list_.check());
        if (!question_.target.empty() && !question_.target.starts_with("0x")) {
            return fail(ErrorCode::kUsage, "\"" + question_.target +
                                               "\" is not the address of a binary, such as "
                                               "0x7f0012345678");
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        question_.limit = list_.query().limit;
        if (!question_.target.empty()) {
            return answer_holders(invocation, question_, answer_, terms_);
        }
        ASSIGN_OR_RETURN(auto dump, invocation.open(question_.dump, all_heaps()));
        ReadingProgress progress(invocation, "reading processes");
        return leaks_ ? run_leaks(invocation, *dump, progress)
                      : run_list(invocation, *dump, progress);
    }

  private:
    Result<Outcome> run_list(Invocation& invocation, Dump& dump, ReadingProgress& progress) {
        const auto query = list_.query();
        auto answer = query::node_binaries(dump, query, invocation.limits(), progress.callback());
        progress.end();
        if (!answer) {
            return std::unexpected(answer.error());
        }
        RETURN_IF_ERROR(answer->list.check_asked("binaries", query::kNodeBinarySort));
        const auto render = answer_.json ? render::binaries_json : render::binaries_text;
        render(fitted(invocation.out(), answer_), *answer, query::dump_facts(dump, question_.dump),
               !query.group_by.empty());
        return answer->read ? report_processes_read(invocation, *answer->read) : Outcome{};
    }

    Result<Outcome> run_leaks(Invocation& invocation, Dump& dump, ReadingProgress& progress) {
        query::BinariesOptions options;
        options.limit = question_.limit;
        options.limits = invocation.limits();
        options.progress = progress.callback();
        auto answer = query::binary_leaks(dump, question_.dump, options);
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
    std::uint64_t at_least_ = 0;
    ListOptions list_;
};

}  // namespace

std::unique_ptr<Command> binaries_command() {
    return std::make_unique<BinariesCommand>();
}

}  // namespace beamdump::cli
