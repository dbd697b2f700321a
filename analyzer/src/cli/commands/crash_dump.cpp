#include "cli/command_table.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/shared_options.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/byte_sink.h>
#include <libdump/base/return_if_error.h>
#include <libdump/crash/export/write_crash_dump.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

void report_left_out(Invocation& invocation, const crash::ExportReport& report) {
    std::vector<std::string> parts;
    if (report.inconsistent > 0) {
        parts.push_back("the terms of " + counted(report.inconsistent, "process", "processes") +
                        " whose copy is not consistent");
    }
    if (report.sensitive > 0) {
        parts.push_back("the terms of " + counted(report.sensitive, "process", "processes") +
                        " flagged sensitive (--sensitive writes them)");
    }
    if (report.unwritten > 0) {
        parts.push_back(counted(report.unwritten, "place", "places") +
                        " in the terms that are invalid or not in the dump");
    }
    if (report.partial_binaries > 0) {
        parts.push_back("the ends of " + counted(report.partial_binaries, "binary", "binaries") +
                        " of which the dump has only the first bytes");
    }
    if (!parts.empty()) {
        invocation.report(fmt::format("missing from the text of {}: {}",
                                      counted(report.processes, "process", "processes"),
                                      fmt::join(parts, "; ")));
    }
}

class CrashDumpCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"crash-dump",
                "Write the dump as Erlang crash dump text, which crashdump_viewer opens",
                "crash-dump node.beamdump -o erl_crash.dump\n"
                "crash-dump node.beamdump -o erl_crash.dump --force\n"
                "crash-dump node.beamdump -o - --sensitive"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_output(app, output_, "The file to write; - (default): standard output");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also write the terms of processes that are flagged sensitive");
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, crash::ConvertChoice{}));
        dump->text_damage().tell_all(dump->trailer());
        options_.limits = invocation.limits();
        options_.program_version = BEAMDUMP_VERSION;
        ASSIGN_OR_RETURN(auto sink, open_sink(output_, invocation.out()));
        ProgressLine line(invocation);
        auto report = crash::write_crash_dump(
            *dump, options_, *sink, [&line](const crash::ExportProgress& progress) {
                line.update(progress.phase, progress.done, progress.total, [&progress] {
                    return fmt::format(", {} written", bytes_text(progress.bytes));
                });
            });
        line.clear();
        if (!report) {
            return std::unexpected(with_partial(report.error(), output_.path));
        }
        if (auto done = sink->commit(); !done) {
            return std::unexpected(with_partial(done.error(), output_.path));
        }
        report_left_out(invocation, *report);
        return Outcome{report->inconsistent > 0 || report->sensitive > 0 || report->unwritten > 0};
    }

  private:
    std::string dump_;
    OutputChoice output_;
    crash::ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> crash_dump_command() {
    return std::make_unique<CrashDumpCommand>();
}

}  // namespace beamdump::cli
