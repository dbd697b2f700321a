#include "query/diff/diff.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/shared_options.h"
#include "query/diff/heap_diff.h"
#include "render/diff.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::cli {

namespace {

class DiffCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"diff",
                "Compare dumps of a node, or their exports as ndjson: what grew most, what "
                "started, exited and was reloaded; of "
                "three dumps or more, what grows steadily",
                "diff mon.beamdump tue.beamdump wed.beamdump\n"
                "diff before.beamdump after.beamdump --heap my_server\n"
                "diff before.beamdump after.beamdump --exit-code"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("BEFORE", before_, "The earliest dump")->required();
        app.add_option("AFTER", after_, "The later dumps, in the order of their times")->required();
        add_count(app, "--limit", options_.limit,
                  "Show at most N things of each list (0: all; default 20)");
        app.add_option("--heap", process_,
                       "Compare the heap of this process instead, by pid or registered name: "
                       "roots, paths, kinds of terms, tags and keys")
            ->option_text("PROCESS");
        app.add_flag("--terms", options_.terms,
                     "Also read the terms of crash dumps: shapes of messages, labels");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read the terms of processes flagged sensitive");
        app.add_flag("--exit-code", exit_code_,
                     "Exit with status 4 if something grew by 1% or more of what the node has: of "
                     "three dumps or more, if it grew steadily");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        std::vector<std::string> files = after_;
        files.insert(files.begin(), before_);
        auto choice = !process_.empty() ? heap_of(process_)
                      : options_.terms  ? all_heaps()
                                        : no_heaps();
        choice.other_sections = process_.empty();
        std::vector<query::DiffInput> inputs;
        std::deque<query::ExportFile> exports;
        for (const std::string& file : files) {
            if (query::is_export(file)) {
                if (!process_.empty()) {
                    return fail(ErrorCode::kUsage,
                                fmt::format("--heap needs dumps: {} is an export, which has no "
                                            "contents of heaps",
                                            file));
                }
                ASSIGN_OR_RETURN(auto exported, query::ExportFile::open(file));
                RETURN_IF_ERROR(invocation.check_redaction(file, exported.facts().redaction));
                inputs.push_back(
                    {.file = file, .exported = &exports.emplace_back(std::move(exported))});
                continue;
            }
            ASSIGN_OR_RETURN(auto* dump, invocation.open(file, choice));
            inputs.push_back({dump, file});
        }
        ReadingProgress progress(invocation, "reading processes");
        options_.limits = invocation.limits();
        options_.progress = progress.callback();
        ASSIGN_OR_RETURN(const auto diff, process_.empty()
                                              ? query::diff_dumps(inputs, options_)
                                              : query::diff_heaps(inputs, process_, options_));
        progress.end();
        (answer_.json ? render::diff_json : render::diff_text)(fitted(invocation.out(), answer_),
                                                               diff);
        Outcome outcome = report_processes_read(invocation, diff.read);
        outcome.incomplete |= report_heaps(invocation, diff);
        outcome.found = exit_code_ && diff.has_growth();
        return outcome;
    }

  private:
    /// Says what the comparison of a process lacks; whether it lacks anything.
    bool report_heaps(Invocation& invocation, const query::DumpsDiff& diff) const {
        if (diff.withheld) {
            invocation.report(fmt::format(
                "missing from the answer: the terms of {} in dumps that do not have them, or in "
                "which it is flagged sensitive; --sensitive shows those",
                process_));
        }
        if (diff.unreadable > 0) {
            invocation.report(fmt::format(
                "the sizes do not include {} with terms that are invalid or not in the dumps",
                counted(diff.unreadable, "place")));
        }
        return diff.withheld || diff.unreadable > 0;
    }

    std::string before_;
    std::vector<std::string> after_;
    std::string process_;
    AnswerOptions answer_;
    query::DiffOptions options_;
    bool exit_code_ = false;
};

}  // namespace

std::unique_ptr<Command> diff_command() {
    return std::make_unique<DiffCommand>();
}

}  // namespace beamdump::cli
