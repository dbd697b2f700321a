#include "cli/command_table.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/shared_options.h"
#include "input/opened_dump.h"

#include <libdump/model/dump.h>

#include <fmt/format.h>

namespace beamdump::cli {

namespace {

class ConvertCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"convert", "Convert a crash dump to a dump: smaller, and queries start at once",
                "convert erl_crash.dump -o crash.beamdump\n"
                "convert erl_crash.dump.gz -o crash.beamdump --force\n"
                "convert erl_crash.dump -o crash.beamdump --key key.pem"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("CRASH_DUMP", crash_dump_,
                       "The crash dump, plain or compressed; -: standard input")
            ->required();
        add_output(app, output_, "The dump to write")->required();
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (!input::is_crash_dump(crash_dump_)) {
            const auto dump = Dump::open(crash_dump_);
            if (!dump && dump.error().code != ErrorCode::kNotADump) {
                return std::unexpected(dump.error());
            }
            return fail(
                ErrorCode::kNotADump,
                fmt::format("{} is not a crash dump: there is nothing to convert", crash_dump_));
        }
        ProgressLine line(invocation);
        const auto on_progress = [&line](std::string_view phase) {
            return [&line, phase](std::uint64_t done, std::uint64_t total) {
                line.update(phase, done, total);
            };
        };
        auto text = crash::CrashDump::open(crash_dump_, on_progress("finding sections"), {},
                                           invocation.limits());
        if (!text) {
            line.clear();
            return std::unexpected(text.error());
        }
        auto sink = open_sink(output_, invocation.out());
        if (!sink) {
            line.clear();
            return std::unexpected(sink.error());
        }
        auto outcome = crash::convert(*text, std::move(*sink), {}, on_progress("converting"));
        line.clear();
        if (!outcome) {
            return std::unexpected(with_partial(outcome.error(), output_.path));
        }
        for (const auto& note : text->notes()) {
            invocation.report(fmt::format("{}: {}", crash_dump_, note));
        }
        for (const auto& sentence : outcome->missing) {
            invocation.report(sentence);
        }
        return Outcome{!outcome->missing.empty()};
    }

  private:
    std::string crash_dump_;
    OutputChoice output_;
};

}  // namespace

std::unique_ptr<Command> convert_command() {
    return std::make_unique<ConvertCommand>();
}

}  // namespace beamdump::cli
