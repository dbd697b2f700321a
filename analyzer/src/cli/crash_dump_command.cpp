#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "render/units.h"

#include <libdump/write/byte_sink.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", render::count_text(count), count == 1 ? one : many);
}

void tell_left_out(render::Output& err, const crash_dump::Report& report) {
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
                        " in the terms that the dump lacks or that make no term");
    }
    if (report.partial_binaries > 0) {
        parts.push_back("the ends of " + counted(report.partial_binaries, "binary", "binaries") +
                        " of which the dump has the first bytes only");
    }
    if (!parts.empty()) {
        tell(err, fmt::format("of {}, the text lacks: {}",
                              counted(report.processes, "process", "processes"),
                              fmt::join(parts, "; ")));
    }
}

}  // namespace

Result<Outcome> crash_dump_command(Dump& dump, const Options& options, render::Output& out,
                                   render::Output& err) {
    auto sink = open_sink(options, out);
    if (!sink) {
        return std::unexpected(sink.error());
    }
    ProgressLine line(err);
    auto report = crash_dump::write_crash_dump(
        dump, options.crash_dump, **sink, [&line](const crash_dump::Progress& progress) {
            line.update(progress.phase, progress.done, progress.total, [&progress] {
                return fmt::format(", {} written", render::bytes_text(progress.bytes));
            });
        });
    line.clear();
    if (!report) {
        return std::unexpected(with_partial(report.error(), options.output));
    }
    if (auto done = (*sink)->commit(); !done) {
        return std::unexpected(with_partial(done.error(), options.output));
    }
    tell_left_out(err, *report);
    return Outcome{report->inconsistent > 0 || report->sensitive > 0 || report->unwritten > 0};
}

}  // namespace beamdump::cli
