#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "input/opened_dump.h"

#include <fmt/format.h>

namespace beamdump::cli {

Result<Outcome> convert_command(const Options& options, render::Output& out, render::Output& err) {
    if (!input::is_crash_dump(options.dump)) {
        return fail(ErrorCode::kNotADump,
                    fmt::format("{} is no crash dump: there is nothing to convert", options.dump));
    }
    ProgressLine line(err);
    const auto tell_progress = [&line](std::string_view phase) {
        return [&line, phase](std::uint64_t done, std::uint64_t total) {
            line.update(phase, done, total);
        };
    };
    auto text = crash::CrashDump::open(options.dump, tell_progress("finding sections"));
    if (!text) {
        line.clear();
        return std::unexpected(text.error());
    }
    auto sink = open_sink(options, out);
    if (!sink) {
        line.clear();
        return std::unexpected(sink.error());
    }
    auto outcome = crash::convert(*text, std::move(*sink), {}, tell_progress("converting"));
    line.clear();
    if (!outcome) {
        return std::unexpected(with_partial(outcome.error(), options.output));
    }
    for (const auto& sentence : outcome->missing) {
        tell(err, sentence);
    }
    return Outcome{!outcome->missing.empty()};
}

}  // namespace beamdump::cli
