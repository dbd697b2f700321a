#include "query/activity/profile.h"

#include "cli/command_table.h"
#include "cli/output_file.h"
#include "cli/shared_options.h"
#include "render/shared/output.h"

#include <libdump/base/return_if_error.h>
#include <libdump/profile/profile_text.h>

#include <limits>

namespace beamdump::cli {
namespace {

class ProfileCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"profile", "Show which functions used processor time before the capture",
                "profile node.beamdump --by initial_call\n"
                "profile node.beamdump --stacks\n"
                "profile node.beamdump --format folded -o node.folded"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("--by", by_text_,
                       "Group by process, name (registered), initial_call, scheduler or thread")
            ->type_name("WHAT");
        app.add_flag("--stacks", stacks_, "Show the most frequent stacks too");
        add_count(app, "--limit", limit_, "Show at most N rows of a table (0: all; default 20)");
        app.add_option("--format", format_text_,
                       "Write the stacks for other programs: folded, speedscope or pprof")
            ->type_name("FORMAT");
        add_output(app, output_, "With --format: the file to write");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (!by_text_.empty()) {
            ASSIGN_OR_RETURN(by_, parse_samples_by(by_text_));
        }
        if (!format_text_.empty()) {
            ASSIGN_OR_RETURN(format_, parse_stack_format(format_text_));
        }
        if (format_ && answer_.json) {
            return fail(ErrorCode::kUsage, "--format and --json exclude each other");
        }
        if (stacks_ && (format_ || answer_.json)) {
            return fail(ErrorCode::kUsage,
                        "--stacks applies to text only: --format and --json have all stacks");
        }
        if (!format_ && output_.path != "-") {
            return fail(ErrorCode::kUsage, "-o needs --format: folded, speedscope or pprof");
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (format_ == StackFormat::kPprof && output_.path == "-" &&
            invocation.out().is_terminal()) {
            return fail(ErrorCode::kUsage, "pprof is not text: name a file with -o");
        }
        ASSIGN_OR_RETURN(auto* dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(const auto report, query::read_profile(*dump, dump_, by_));
        if (format_) {
            RETURN_IF_ERROR(write_stacks(invocation, report));
        } else if (answer_.json) {
            profile_json(invocation.out(), report);
        } else {
            const auto most = limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_;
            auto& out = fitted(invocation.out(), answer_);
            profile_text(out, report, most);
            if (stacks_) {
                stacks_list(out, report.profile.stacks(), most);
            }
        }
        for (const auto& remark : report.remarks) {
            invocation.report(remark);
        }
        return Outcome{.incomplete = !report.complete()};
    }

  private:
    Result<void> write_stacks(Invocation& invocation, const ProfileReport& report) {
        ASSIGN_OR_RETURN(const auto sink,
                         open_sink(output_, invocation.out(), PartialFile::kRemoved));
        render::SinkOutput out(*sink);
        auto written = stacks_as(*format_, out, report.profile.stacks(),
                                 profile_terms(report, "beamdump-analyze " BEAMDUMP_VERSION));
        out.flush();
        return written ? sink->commit() : written;
    }

    std::string dump_;
    std::string by_text_;
    SamplesBy by_ = SamplesBy::kNone;
    bool stacks_ = false;
    std::string format_text_;
    std::optional<StackFormat> format_;
    std::uint64_t limit_ = 20;
    OutputChoice output_;
    AnswerOptions answer_;
};

}  // namespace

std::unique_ptr<Command> profile_command() {
    return std::make_unique<ProfileCommand>();
}

}  // namespace beamdump::cli
