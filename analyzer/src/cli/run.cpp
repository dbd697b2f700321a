#include "cli/run.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "input/opened_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

namespace beamdump::cli {

namespace {

/// The dumps that a command is about: one, or for a comparison two.
struct Dumps {
    std::unique_ptr<Dump> first;
    std::unique_ptr<Dump> second;
    std::vector<std::string> missing;  // of the files that they came from

    template <typename Visit>
    void each(const Visit& visit) const {
        visit(*first);
        if (second) {
            visit(*second);
        }
    }
};

/// What a command needs of a crash dump's heaps.
crash::ConvertChoice choice_for(const Options& options) {
    using Heaps = crash::ConvertChoice::Heaps;
    crash::ConvertChoice choice;
    choice.heaps = options.command == Command::kCrashDump ? Heaps::kAll
                   : options.process.empty()              ? Heaps::kNone
                                                          : Heaps::kOne;
    choice.process = options.process;
    return choice;
}

Result<std::unique_ptr<Dump>> open_dump(const std::string& path, const Options& options,
                                        render::Output& err, Dumps& into) {
    ProgressLine line(err);
    auto opened = input::open_dump(path, choice_for(options),
                                   [&line](std::uint64_t done, std::uint64_t total) {
                                       line.update("reading the crash dump", done, total);
                                   });
    line.clear();
    if (!opened) {
        return std::unexpected(opened.error());
    }
    std::ranges::move(opened->missing, std::back_inserter(into.missing));
    return std::move(opened->dump);
}

Result<Dumps> open_dumps(const Options& options, render::Output& err) {
    Dumps dumps;
    auto first = open_dump(options.dump, options, err, dumps);
    if (!first) {
        return std::unexpected(first.error());
    }
    dumps.first = std::move(*first);
    if (options.command == Command::kDiff) {
        auto second = open_dump(options.later_dump, options, err, dumps);
        if (!second) {
            return std::unexpected(second.error());
        }
        dumps.second = std::move(*second);
    }
    return dumps;
}

Result<Outcome> answer(const Dumps& dumps, const Options& options, render::Output& out,
                       render::Output& err) {
    switch (options.command) {
        case Command::kSummary:
            return summary_command(*dumps.first, options, out);
        case Command::kProcesses:
            return processes_command(*dumps.first, options, out);
        case Command::kProcess:
            return process_command(*dumps.first, options, out, err);
        case Command::kMessages:
            return messages_command(*dumps.first, options, out, err);
        case Command::kDictionary:
            return dictionary_command(*dumps.first, options, out, err);
        case Command::kBacktrace:
            return backtrace_command(*dumps.first, options, out, err);
        case Command::kDiff:
            return diff_command(*dumps.first, *dumps.second, options, out);
        case Command::kHeap:
            return heap_command(*dumps.first, options, out, err);
        case Command::kCrashDump:
            return crash_dump_command(*dumps.first, options, out, err);
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
    bool incomplete = (outcome && outcome->incomplete) || !dumps->missing.empty();
    for (const auto& sentence : dumps->missing) {
        tell(err, sentence);
    }
    std::optional<Error> fault;
    dumps->each([&](Dump& dump) {
        if (const auto& damage = dump.reader().damage()) {
            tell(err, damage->what);
            incomplete = true;
        }
        if (dump.faults().first() && !fault) {
            fault = dump.faults().first();
        }
        if (options.stats) {
            tell_stats(err, dump.reader().stats(), dump.reader().file_bytes());
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
