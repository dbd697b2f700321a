#include "cli/run.h"

#include "cli/arguments.h"
#include "cli/invocation.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/decimal.h>
#include <libdump/base/terminal_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace beamdump::cli {

namespace {

Ended fail_with(Invocation& invocation, const Error& error) {
    invocation.report(error.message);
    return {error.code == ErrorCode::kUsage ? ExitStatus::kUsage : ExitStatus::kFailed, error.code};
}

void report_stats(render::Output& err, const input::OpenedDump& opened) {
    DumpReader& reader = opened.dump().reader();
    err.print("stats: frames_decompressed={} file_bytes_read={} file_bytes={}\n",
              reader.stats().frames_decompressed, reader.stats().file_bytes_read,
              reader.file_bytes());
    if (const auto text = opened.text_stats()) {
        err.print("stats: crash_dump_bytes_read={} crash_dump_bytes={}\n", text->bytes_read,
                  text->bytes);
        err.print("stats: crash_dump_cache={}\n", one_line(text->kept));
    }
}

/// One sentence for each part of a dump that could not be read, except for `ended`, the error that
/// ended the answer, if any.
std::vector<std::string> unread(const input::OpenedDump& opened, const std::string& ended,
                                bool one_of_several) {
    auto sentences = opened.missing();
    if (one_of_several) {
        for (auto& sentence : sentences) {
            sentence.insert(0, opened.path() + ": ");
        }
    }
    const DumpReader& reader = opened.dump().reader();
    // A recording whose writer was killed has no end, and lacks nothing else.
    const bool is_recording = opened.dump().capture().mode() == records::CAPTURE_MODE_RECORDING;
    const auto& damage = reader.damage();
    if (damage && !(is_recording && damage->truncated && damage->lost_bytes == 0)) {
        sentences.push_back(damage->what);
    }
    if (const auto entries = reader.skipped_index_entries(); entries != 0) {
        sentences.push_back(
            fmt::format("the index of the dump repeats a page or names an invalid one, {}: data is "
                        "missing from the answer",
                        counted(entries, "time")));
    }
    std::string said = ended;
    if (const auto& fault = opened.dump().faults().first(); fault && fault->message != ended) {
        sentences.push_back(fault->message);
        said += fault->message;
    }
    if (const auto& frames = reader.unreadable()) {
        const std::string& first = frames->first.message;
        if (frames->frames > 1) {
            sentences.push_back(
                fmt::format("data is missing from the answer: {} frames of the dump cannot be "
                            "read; the first: {}",
                            frames->frames, first));
        } else if (!said.contains(first)) {
            sentences.push_back("data is missing from the answer: " + first);
        }
    }
    return sentences;
}

/// BEAMDUMP_CACHE: `off`, or the bytes of the smallest crash dump whose facts are kept.
crash::CacheChoice cache_of_user() {
    const char* value = std::getenv("BEAMDUMP_CACHE");
    const std::string_view set = value == nullptr ? "" : value;
    crash::CacheChoice cache;
    if (set == "off") {
        return cache;
    }
    cache.directory = crash::user_cache_directory();
    cache.least_bytes = decimal_number(set).value_or(crash::CacheChoice::kDefaultLeast);
    return cache;
}

unsigned threads_of(const Request& request) {
    constexpr unsigned kMostByDefault = 4;
    return request.threads ? static_cast<unsigned>(*request.threads)
                           : std::clamp(std::thread::hardware_concurrency(), 1U, kMostByDefault);
}

/// See https://no-color.org; an option is stronger than the environment.
bool wants_colors(Colors colors, const render::Output& out) {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string_view(value == nullptr ? "" : value);
    };
    return colors == Colors::kAlways ||
           (colors == Colors::kAuto && out.is_terminal() && variable("NO_COLOR").empty() &&
            variable("TERM") != "dumb");
}

input::OpenOptions open_options_of(const Request& request) {
    return {.limits = request.limits,
            .cache = request.cache ? cache_of_user() : crash::CacheChoice(),
            .threads = threads_of(request),
            .key = request.key};
}

Ended run_request(const Request& request, Invocation& invocation) {
    render::Output& out = invocation.out();
    if (request.pager) {
        out.allow_pager();
    }
    if (wants_colors(request.colors, out)) {
        out.show_colors();
    }
    auto outcome = request.command->run(invocation);
    out.flush();
    if (const auto& error = out.error()) {
        // A reader that closes the pipe early is not an error to report.
        return error->code == ErrorCode::kClosedPipe ? Ended{ExitStatus::kDone}
                                                     : fail_with(invocation, *error);
    }
    bool incomplete = outcome && outcome->incomplete;
    for (const input::OpenedDump& opened : invocation.opened()) {
        for (const auto& sentence : unread(opened, outcome ? "" : outcome.error().message,
                                           invocation.opened().size() > 1)) {
            invocation.report(sentence);
            incomplete = true;
        }
        if (request.stats) {
            report_stats(invocation.err(), opened);
        }
    }
    if (outcome || outcome.error().code == ErrorCode::kNotFound ||
        outcome.error().code == ErrorCode::kUsage) {
        invocation.keep_opened();
    }
    if (!outcome) {
        return fail_with(invocation, outcome.error());
    }
    return {outcome->found ? ExitStatus::kFound
            : incomplete   ? ExitStatus::kIncomplete
                           : ExitStatus::kDone};
}

/// `open`: in place of what the arguments say of opening dumps; null: as they say.
Ended run_arguments(Invocation& invocation, const input::OpenOptions* open,
                    const std::vector<std::string>& arguments) {
    render::Output& out = invocation.out();
    Ended ended;
    try {
        auto parsed = parse_arguments(arguments);
        if (!parsed) {
            ended = fail_with(invocation, parsed.error());
        } else if (const auto* notice = std::get_if<Notice>(&*parsed)) {
            out.write(notice->text);
            out.flush();
            ended = {ExitStatus::kDone};
        } else {
            const auto& request = std::get<Request>(*parsed);
            invocation.set_open_options(open == nullptr ? open_options_of(request) : *open);
            ended = run_request(request, invocation);
        }
    } catch (const std::exception& error) {
        invocation.report(fmt::format("stopped by an unexpected error: {}", error.what()));
    }
    invocation.err().flush();
    return ended;
}

}  // namespace

Ended run_to_end(const std::vector<std::string>& arguments, render::Output& out,
                 render::Output& err) {
    Invocation invocation(out, err);
    return run_arguments(invocation, nullptr, arguments);
}

Ended run_for(Served served, const input::OpenOptions& open,
              const std::vector<std::string>& arguments, render::Output& out, render::Output& err) {
    Invocation invocation(out, err, std::move(served));
    return run_arguments(invocation, &open, arguments);
}

ExitStatus run(const std::vector<std::string>& arguments, render::Output& out,
               render::Output& err) {
    return run_to_end(arguments, out, err).status;
}

}  // namespace beamdump::cli
