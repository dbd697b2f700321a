#include "cli/run.h"

#include "check/node_check.h"
#include "cli/check_text.h"
#include "cli/crash_handler.h"
#include "cli/memory_plan.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <program/start.h>

#include <fmt/format.h>

#include <filesystem>
#include <unistd.h>

namespace beamdump::cli {
namespace {

using program::kDone;
using program::kFailed;
using program::kIncomplete;

int give_up(program::Streams& streams, const Error& error) {
    return program::give_up(streams, "beamdump-capture", error);
}

Result<DumpWriter> make_writer(const Options& options, const program::Streams& streams) {
    if (options.to_stdout) {
        return DumpWriter::create(streams.watched(descriptor_sink(streams.out_descriptor)),
                                  options.writer);
    }
    const auto pages = options.small      ? WrittenPages::kDropped
                       : options.no_cache ? WrittenPages::kDroppedOnDisk
                                          : WrittenPages::kStay;
    ASSIGN_OR_RETURN(auto sink,
                     open_file_sink(options.output, {.force = options.force, .pages = pages}));
    return DumpWriter::create(streams.watched(std::move(sink)), options.writer);
}

/// Names the file that a failed capture left behind, unless the error's sentence does.
Error with_partial(Error error, const Options& options) {
    auto partial = options.output;
    partial += ".partial";
    std::error_code ignored;
    if (error.message.find(partial.native()) == std::string::npos &&
        std::filesystem::exists(partial, ignored)) {
        error.message += fmt::format("; the partial dump is {}", partial.native());
    }
    return error;
}

/// Where an allocation failed: by the limit that this program has set itself?
Error with_memory(Error error, const Options& options) {
    if (options.memory && error.code == ErrorCode::kLimit &&
        error.message.starts_with("not enough memory")) {
        error.message = fmt::format(
            "this node's capture needs more than {} of memory: give "
            "--memory with more, or run it where more is left",
            mebibytes_text(*options.memory));
    }
    return error;
}

int capture_and_report(const Options& options, program::Streams& streams,
                       const CaptureFunction& capture, const std::atomic<bool>& cancelled) {
    ProgressPrinter printer(streams);
    NoProgress silence;
    capture::ProgressListener& listener =
        options.quiet ? static_cast<capture::ProgressListener&>(silence) : printer;
    bool writer_made = false;
    const auto make = [&] {
        auto writer = make_writer(options, streams);
        writer_made = writer.has_value();
        if (writer_made && !options.output_named && !options.quiet && streams.err_ready()) {
            streams.err << fmt::format("writing to {}\n", one_line(options.output.native()))
                        << std::flush;
        }
        return writer;
    };
    const auto report = capture(options.capture, make, listener, cancelled);
    streams.finishing();
    printer.clear();
    if (!report) {
        const auto error = with_memory(report.error(), options);
        const bool partial = writer_made && !options.to_stdout;
        return give_up(streams, partial ? with_partial(error, options) : error);
    }
    for (const auto& warning : report->warnings) {
        streams.err << fmt::format("beamdump-capture: warning: {}\n", one_line(warning));
    }
    if (!options.quiet) {
        const auto output = options.to_stdout ? "standard output" : options.output.native();
        streams.err << report_text(*report, output);
    }
    streams.err << std::flush;
    const bool partly_sampled =
        options.capture.samples != nullptr && !options.capture.samples->complete();
    return incomplete(*report) || partly_sampled ? kIncomplete : kDone;
}

/// Finds the node that was named in place of a pid, and names the output.
Result<void> complete(Options& options, const program::Streams& streams,
                      const FindNode& find_node) {
    if (options.node) {
        ASSIGN_OR_RETURN(const auto how, capture::locate_options(options.capture));
        ASSIGN_OR_RETURN(options.capture.pid, find_node(*options.node, how));
        if (options.node->empty() && !options.quiet && streams.err_ready()) {
            streams.err << fmt::format("the node is process {}\n", options.capture.pid)
                        << std::flush;
        }
    }
    if (!options.output_named) {
        options.output = made_up_output(options.capture);
    }
    return {};
}

/// Takes the samples that the dump is to have.
Result<void> sample(Options& options, program::Streams& streams, const TakeSamples& take_samples,
                    const std::atomic<bool>& cancelled) {
    if (!options.to_stdout) {
        // Before the time is spent; the capture itself says it again if it comes to be meanwhile.
        RETURN_IF_ERROR(check_file_sink(options.output, options.force));
    }
    if (!options.quiet && streams.err_ready()) {
        streams.err << fmt::format("sampling for {:.1f} s\n",
                                   static_cast<double>(options.profile->count()) / 1000)
                    << std::flush;
    }
    ASSIGN_OR_RETURN(const auto how, capture::locate_options(options.capture));
    ASSIGN_OR_RETURN(auto report,
                     take_samples(options.capture.pid, how, *options.profile, cancelled));
    if (cancelled) {
        return fail(ErrorCode::kIo, "interrupted; the node continues to run, there is no dump");
    }
    for (const auto& sentence : shortcomings(report)) {
        streams.err << fmt::format("beamdump-capture: warning: samples: {}\n", one_line(sentence));
    }
    options.capture.samples = std::make_shared<const ProfileReport>(std::move(report));
    return {};
}

/// Looks at what is left to this program before anything of it grows.
Result<void> plan(Options& options, const program::Streams& streams) {
    if (const auto own = target::HeadRoom::of(::getpid())) {
        // --memory is known to mean one thread and level 1; that it overrides a --level or
        // --threads of the same command line is said.
        const bool asked_for = options.memory.has_value() && !options.effort_given;
        RETURN_IF_ERROR(plan_memory(options, *own));
        if (options.small && !asked_for && !options.quiet && !options.check &&
            streams.err_ready()) {
            streams.err << fmt::format("the capture takes {}\n", one_line(options.memory_plan))
                        << std::flush;
        }
    }
    return keep_to_plan(options);
}

int check_and_tell(const Options& options, program::Streams& streams,
                   const std::atomic<bool>& cancelled) {
    ProgressPrinter printer(streams);
    NoProgress silence;
    capture::ProgressListener& listener =
        options.quiet ? static_cast<capture::ProgressListener&>(silence) : printer;
    const auto check = check::check_node(
        options.capture, options.writer.level,
        options.verbose ? check::Probe::kFields : check::Probe::kNo, listener, cancelled);
    streams.finishing();
    printer.clear();
    if (!check) {
        return give_up(streams, check.error());
    }
    streams.out << check_text(*check, plan_text(options), options.verbose) << std::flush;
    return streams.out ? kDone : kFailed;
}

}  // namespace

int run(const std::vector<std::string>& arguments, program::Streams& streams,
        const CaptureFunction& capture, const std::atomic<bool>& cancelled,
        target::StopTracker* stops, const FindNode& find_node, const TakeSamples& take_samples) {
    if (const auto crash = crash_command(arguments)) {
        return handle_crash(*crash, STDIN_FILENO);
    }
    auto parsed = parse_options(arguments);
    if (!parsed) {
        return give_up(streams, parsed.error());
    }
    if (const auto* answer = std::get_if<Answer>(&*parsed)) {
        streams.out << answer->text << std::flush;
        return kDone;
    }
    auto& options = std::get<Options>(*parsed);
    options.capture.stops = stops;
    if (auto enough = program::ensure_descriptors(); !enough) {
        return give_up(streams, enough.error());
    }
    if (auto planned = plan(options, streams); !planned) {
        return give_up(streams, planned.error());
    }
    if (auto completed = complete(options, streams, find_node); !completed) {
        return give_up(streams, completed.error());
    }
    if (options.check) {
        return check_and_tell(options, streams, cancelled);
    }
    if (options.to_stdout && streams.out_is_terminal) {
        return give_up(
            streams,
            {ErrorCode::kUsage,
             "standard output is a terminal: redirect it to a file or pipe, or use -o FILE"});
    }
    if (options.profile) {
        if (auto sampled = sample(options, streams, take_samples, cancelled); !sampled) {
            return give_up(streams, sampled.error());
        }
    }
    return capture_and_report(options, streams, capture, cancelled);
}

}  // namespace beamdump::cli
