#include "cli/run.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "input/opened_dump.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <utility>

namespace beamdump::cli {

namespace {

/// The dumps that a command is about: one, or for a comparison two.
struct Dumps {
    input::OpenedDump first;
    std::optional<input::OpenedDump> second;

    template <typename Visit>
    void each(const Visit& visit) const {
        visit(first);
        if (second) {
            visit(*second);
        }
    }
};

/// What a command needs of a crash dump's heaps.
crash::ConvertChoice choice_for(const Options& options) {
    using Heaps = crash::ConvertChoice::Heaps;
    crash::ConvertChoice choice;
    choice.process = options.process;
    switch (options.command) {
        case Command::kBacktrace:
        case Command::kMessages:
        case Command::kDictionary:
            choice.heaps = Heaps::kOneLate;
            break;
        case Command::kCrashDump:
            choice.heaps = Heaps::kAll;
            break;
        default:
            choice.heaps = options.process.empty() ? Heaps::kNone : Heaps::kOne;
    }
    choice.other_sections = options.command == Command::kSections;
    return choice;
}

Result<input::OpenedDump> open_dump(const std::string& path, const Options& options,
                                    render::Output& err) {
    ProgressLine line(err);
    auto opened = input::open_dump(
        path, choice_for(options),
        [&line](std::uint64_t done, std::uint64_t total) {
            line.update("reading the crash dump", done, total);
        },
        [&line](const crash::CrashHeader& header) {
            line.say(fmt::format("crash dump of {}: {}", header.date, header.slogan));
        });
    line.clear();
    return opened;
}

Result<Dumps> open_dumps(const Options& options, render::Output& err) {
    auto first = open_dump(options.dump, options, err);
    if (!first) {
        return std::unexpected(first.error());
    }
    Dumps dumps{std::move(*first), std::nullopt};
    if (options.command == Command::kDiff) {
        auto second = open_dump(options.later_dump, options, err);
        if (!second) {
            return std::unexpected(second.error());
        }
        dumps.second.emplace(std::move(*second));
    }
    return dumps;
}

Result<Outcome> answer(const Dumps& dumps, const Options& options, render::Output& out,
                       render::Output& err) {
    Dump& dump = dumps.first.dump();
    switch (options.command) {
        case Command::kSummary:
            return summary_command(dump, options, out);
        case Command::kProcesses:
            return processes_command(dump, options, out);
        case Command::kProcess:
            return process_command(dump, options, out, err);
        case Command::kMessages:
            return messages_command(dump, options, out, err);
        case Command::kDictionary:
            return dictionary_command(dump, options, out, err);
        case Command::kBacktrace:
            return backtrace_command(dump, options, out, err);
        case Command::kDiff:
            return diff_command(dump, dumps.second->dump(), options, out);
        case Command::kHeap:
            return heap_command(dump, options, out, err);
        case Command::kSections:
            return sections_command(dump, options, out);
        case Command::kCrashDump:
            return crash_dump_command(dump, options, out, err);
        case Command::kConvert:
            break;
    }
    return fail(ErrorCode::kUsage, "no such command");
}

ExitStatus fail_with(render::Output& err, const Error& error) {
    tell(err, error.message);
    return error.code == ErrorCode::kUsage ? ExitStatus::kUsage : ExitStatus::kFailed;
}

void tell_stats(render::Output& err, const ReadStats& stats, std::uint64_t file_bytes) {
    err.print("stats: frames_decompressed={} file_bytes_read={} file_bytes={}\n",
              stats.frames_decompressed, stats.file_bytes_read, file_bytes);
}

ExitStatus run_command(const Options& options, render::Output& out, render::Output& err) {
    if (options.command == Command::kConvert) {
        auto converted = convert_command(options, out, err);
        if (!converted) {
            return fail_with(err, converted.error());
        }
        return converted->incomplete ? ExitStatus::kIncomplete : ExitStatus::kDone;
    }
    auto dumps = open_dumps(options, err);
    if (!dumps) {
        return fail_with(err, dumps.error());
    }
    auto outcome = answer(*dumps, options, out, err);
    out.flush();
    if (const auto& error = out.error()) {
        // A reader that has seen enough is no failure, and wants no words about it.
        return error->code == ErrorCode::kClosedPipe ? ExitStatus::kDone : fail_with(err, *error);
    }
    bool incomplete = outcome && outcome->incomplete;
    std::optional<Error> fault;
    dumps->each([&](const input::OpenedDump& opened) {
        for (const auto& sentence : opened.missing()) {
            tell(err, sentence);
            incomplete = true;
        }
        Dump& dump = opened.dump();
        if (const auto& damage = dump.reader().damage()) {
            tell(err, damage->what);
            incomplete = true;
        }
        if (dump.faults().first() && !fault) {
            fault = dump.faults().first();
        }
        if (options.stats) {
            tell_stats(err, dump.reader().stats(), dump.reader().file_bytes());
            if (const auto text = opened.text_stats()) {
                err.print("stats: crash_dump_bytes_read={} crash_dump_bytes={}\n", text->bytes_read,
                          text->bytes);
            }
        }
    });
    if (!outcome) {
        return fail_with(err, outcome.error());
    }
    if (fault) {
        return fail_with(err, *fault);
    }
    return incomplete ? ExitStatus::kIncomplete : ExitStatus::kDone;
}

}  // namespace

ExitStatus run(const std::vector<std::string>& arguments, render::Output& out,
               render::Output& err) {
    ExitStatus status = ExitStatus::kFailed;
    try {
        auto options = parse_options(arguments);
        if (!options) {
            status = fail_with(err, options.error());
        } else if (const auto* notice = std::get_if<Notice>(&*options)) {
            out.write(notice->text);
            out.flush();
            status = ExitStatus::kDone;
        } else {
            status = run_command(std::get<Options>(*options), out, err);
        }
    } catch (const std::exception& error) {
        tell(err, fmt::format("stopped by an unexpected error: {}", error.what()));
    }
    err.flush();
    return status;
}

}  // namespace beamdump::cli
