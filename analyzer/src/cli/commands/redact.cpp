#include "cli/command_table.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "input/opened_dump.h"
#include "query/redaction/find_kept.h"

#include <libdump/base/return_if_error.h>
#include <libdump/crash/cache/open_text.h>
#include <libdump/rewrite/redact_dump.h>

#include <fmt/format.h>

namespace beamdump::cli {

namespace {

class RedactCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"redact", "Write a dump without the values in it: sizes and shapes remain",
                "redact node.beamdump -o shared.beamdump\n"
                "redact node.beamdump --policy text -o shared.beamdump\n"
                "redact erl_crash.dump -o shared.beamdump"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("DUMP", dump_,
                       "The dump, whole; or a crash dump, which is converted; -: standard input")
            ->required();
        app.add_option("--policy", policy_,
                       "structure: no values; text: binaries and strings are hidden, numbers and "
                       "atoms remain; or a JSON file")
            ->capture_default_str()
            ->type_name("POLICY");
        add_output(app, output_, "The dump to write")->required();
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(const auto policy, redact::read_policy(policy_));
        ProgressLine line(invocation);
        if (!input::is_crash_dump(dump_)) {
            return redact(invocation, DumpReader::open(dump_), policy, line);
        }
        if (policy.has_term_lists()) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("{} is a crash dump, to which a policy's lists of modules, "
                                    "records, structs and keys cannot be applied",
                                    dump_));
        }
        auto text = crash::open_text(
            dump_, {}, {},
            [&line](std::uint64_t done, std::uint64_t total) {
                line.update("converting", done, total);
            },
            {}, invocation.limits(), invocation.key());
        line.clear();
        if (!text) {
            return std::unexpected(text.error());
        }
        ASSIGN_OR_RETURN(
            auto outcome,
            redact(invocation, DumpReader::open(std::move(text->dump), dump_), policy, line));
        for (const auto& note : text->text->notes()) {
            invocation.report(fmt::format("{}: {}", dump_, note));
        }
        for (const auto& sentence : text->outcome.missing) {
            invocation.report(sentence);
        }
        outcome.incomplete = !text->outcome.missing.empty();
        return outcome;
    }

  private:
    Result<Outcome> redact(Invocation& invocation, Result<DumpReader> dump,
                           const redact::Policy& policy, ProgressLine& line) {
        RedactOptions options;
        if (policy.has_term_lists()) {
            ASSIGN_OR_RETURN(options.kept, kept_terms(invocation, policy, line));
        }
        ASSIGN_OR_RETURN(auto sink, open_sink(output_, invocation.out()));
        options.tool_version = BEAMDUMP_VERSION;
        options.on_progress = [&line](std::uint64_t done, std::uint64_t total) {
            line.update("redacting", done, total);
        };
        const auto redacted = dump ? redact_dump(std::move(*dump), std::move(sink), policy, options)
                                   : std::unexpected(std::move(dump.error()));
        line.clear();
        if (!redacted) {
            auto error = redacted.error();
            error.message.insert(0, dump_ + ": ");
            return std::unexpected(with_partial(std::move(error), output_.path));
        }
        if (!redacted->unread.empty()) {
            invocation.report(redacted->unread);
        }
        return Outcome{};
    }

    /// What the policy's lists keep; says what they might have kept besides.
    Result<std::shared_ptr<const redact::KeptTerms>> kept_terms(Invocation& invocation,
                                                                const redact::Policy& policy,
                                                                ProgressLine& line) const {
        ASSIGN_OR_RETURN(const auto dump, invocation.open(dump_, {}));
        auto found = query::find_kept_terms(*dump, policy, invocation.limits(),
                                            [&line](std::uint64_t done, std::uint64_t total) {
                                                line.update("looking at terms", done, total);
                                            });
        line.clear();
        if (!found) {
            return std::unexpected(std::move(found.error()));
        }
        if (const auto words = found->left_out(); words != 0) {
            invocation.report(fmt::format("the lists keep more than {} values: {} more are hidden",
                                          redact::KeptTerms::kMaxWords, words));
        }
        return std::make_shared<const redact::KeptTerms>(std::move(*found));
    }

    std::string dump_;
    std::string policy_ = "structure";
    OutputChoice output_;
};

}  // namespace

std::unique_ptr<Command> redact_command() {
    return std::make_unique<RedactCommand>();
}

}  // namespace beamdump::cli
