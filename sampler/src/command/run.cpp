#include "command/run.h"

#include "command/node_answers.h"
#include "command/options.h"
#include "screen/top_screen.h"
#include "show/alloc.h"
#include "show/function_calls.h"
#include "show/stacks.h"
#include "show/threads.h"
#include "show/top.h"
#include "show/waits.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libdump/profile/profile_text.h>
#include <libsample/node/observed_node.h>
#include <libsample/node/perf_map.h>
#include <libvm/nodes/locate_options.h>
#include <libvm/nodes/node_choice.h>
#include <mcp/server.h>
#include <program/start.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

constexpr std::chrono::milliseconds kLongestSleep{20};

void wait(std::chrono::milliseconds time, const std::atomic<bool>& cancelled) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!cancelled && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::min(time, kLongestSleep));
    }
}

Result<void> write_lines(ObservedNode& node, const TopSettings& settings, bool json, Output& output,
                         const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(auto reader, TopReader::open(node, cancelled));
    for (std::uint64_t shown = 0; !settings.count || shown < *settings.count; ++shown) {
        wait(settings.interval, cancelled);
        if (cancelled) {
            break;
        }
        ASSIGN_OR_RETURN(const auto report, reader.refresh(settings.options, cancelled));
        if (json) {
            top_json(output, report);
        } else {
            output.fit_terminal();
            top_text(output, report);
        }
        output.flush();
        if (!output.ok()) {
            return std::unexpected(*output.error());
        }
    }
    return {};
}

/// Shows a node again and again: on a screen if standard output and input are a terminal and
/// neither JSON nor a number of refreshes is asked for. Ended by a signal it is done.
Result<void> run_top(ObservedNode& node, const TopSettings& settings, bool json, Output& output,
                     const std::atomic<bool>& cancelled) {
    const bool screen =
        output.is_terminal() && ::isatty(STDIN_FILENO) == 1 && !json && !settings.count;
    auto outcome = screen ? top_screen(node, settings.options, settings.interval, cancelled)
                          : write_lines(node, settings, json, output, cancelled);
    // A signal during a reading ends it with an error, which is none.
    return cancelled ? Result<void>() : outcome;
}

using program::kDone;
using program::kIncomplete;

int give_up(program::Streams& streams, const Error& error) {
    return program::give_up(streams, "beamdump-sample", error);
}

Result<std::unique_ptr<ObservedNode>> open_node(const NodeOptions& options,
                                                const std::atomic<bool>& cancelled) {
    ASSIGN_OR_RETURN(const auto how, nodes::locate_options(options.layout, options.no_symbols,
                                                           options.debug_folder));
    auto pid = nodes::pid_of(options.node);
    if (!pid) {
        ASSIGN_OR_RETURN(pid, nodes::find_node(options.node, how));
    }
    return ObservedNode::open(*pid, how, cancelled);
}

/// Collects stacks and shows each as it is found.
template <typename Shown>
Result<StacksReport> collect_and_show(ObservedNode& node, const StacksOptions& options,
                                      target::StopTracker& stops,
                                      const std::atomic<bool>& cancelled, Output& output) {
    Shown shown(output);
    const auto told = [&output]() -> Result<void> {
        return output.ok() ? Result<void>() : std::unexpected(*output.error());
    };
    const StacksListener listener{.scheduler =
                                      [&](const SchedulerStack& scheduler) {
                                          shown.scheduler(scheduler);
                                          return told();
                                      },
                                  .process =
                                      [&](const ProcessStack& stack) {
                                          shown.process(stack);
                                          return told();
                                      }};
    ASSIGN_OR_RETURN(auto report, collect_stacks(node, options, stops, cancelled, listener));
    shown.end(report);
    output.flush();
    RETURN_IF_ERROR(told());
    return report;
}

/// Remarks of a report, and the exit status.
template <typename Report>
int end_run(program::Streams& streams, const Result<Report>& report) {
    streams.finishing();
    if (!report) {
        return report.error().code == ErrorCode::kClosedPipe ? kDone
                                                             : give_up(streams, report.error());
    }
    for (const auto& remark : report->remarks) {
        streams.err << fmt::format("beamdump-sample: {}\n", one_line(remark));
    }
    streams.err << std::flush;
    return report->complete() ? kDone : kIncomplete;
}

int run_stacks(const StacksCommand& command, program::Streams& streams, Output& output,
               const std::atomic<bool>& cancelled, target::StopTracker& stops) {
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    const auto report =
        command.node.json
            ? collect_and_show<StacksJson>(**node, command.options, stops, cancelled, output)
            : collect_and_show<StacksText>(**node, command.options, stops, cancelled, output);
    return end_run(streams, report);
}

/// A report as it is asked for.
template <typename Command, typename Report, typename Terms>
Result<void> write_report(const Command& command, const Report& report, const StackTree& stacks,
                          Terms terms, void (*text)(Output&, const Report&, std::size_t),
                          void (*json)(Output&, const Report&), Output& output) {
    if (command.format) {
        RETURN_IF_ERROR(stacks_as(*command.format, output, stacks,
                                  terms(report, "beamdump-sample " BEAMDUMP_VERSION)));
    } else if (command.node.json) {
        json(output, report);
    } else {
        output.fit_terminal();
        text(output, report, command.limit);
    }
    output.flush();
    return output.ok() ? Result<void>() : std::unexpected(*output.error());
}

/// Whether standard output can take the format.
Result<void> check_output(const Output& output, const std::optional<StackFormat>& format) {
    if (format == StackFormat::kPprof && output.is_terminal()) {
        return fail(ErrorCode::kUsage, "pprof is not text: redirect it to a file");
    }
    return {};
}

int run_waits(const ProfileCommand& command, ObservedNode& node, program::Streams& streams,
              const std::atomic<bool>& cancelled, Output& output) {
    const auto& options = command.options;
    auto report = collect_waits(
        node, {.duration = options.duration, .by = options.by, .frames = options.frames},
        cancelled);
    if (report) {
        if (auto written = write_report(command, *report, report->stacks, waits_terms, waits_text,
                                        waits_json, output);
            !written) {
            report = std::unexpected(written.error());
        }
    }
    return end_run(streams, report);
}

int run_profile(const ProfileCommand& command, program::Streams& streams, Output& output,
                const std::atomic<bool>& cancelled, target::StopTracker& stops) {
    if (auto fit = check_output(output, command.format); !fit) {
        return give_up(streams, fit.error());
    }
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    // A first signal ends the sampling; what was sampled until then is shown.
    streams.finishing();
    if (command.off_cpu) {
        return run_waits(command, **node, streams, cancelled, output);
    }
    auto options = command.options;
    options.stops = command.stops ? &stops : nullptr;
    auto report = collect_profile(**node, options, cancelled);
    if (report) {
        if (auto written = write_report(command, *report, report->profile.stacks(), profile_terms,
                                        profile_text, profile_json, output);
            !written) {
            report = std::unexpected(written.error());
        }
    }
    return end_run(streams, report);
}

int run_function_calls(const AllocCommand& command, ObservedNode& node, program::Streams& streams,
                       const std::atomic<bool>& cancelled, Output& output) {
    auto report = collect_function_calls(
        node, {.functions = command.functions, .duration = command.options.duration}, cancelled);
    if (report) {
        if (command.node.json) {
            function_calls_json(output, *report);
        } else {
            output.fit_terminal();
            function_calls_text(output, *report, command.limit);
        }
        output.flush();
        if (!output.ok()) {
            report = std::unexpected(*output.error());
        }
    }
    return end_run(streams, report);
}

int run_alloc(const AllocCommand& command, program::Streams& streams, Output& output,
              const std::atomic<bool>& cancelled) {
    if (auto fit = check_output(output, command.format); !fit) {
        return give_up(streams, fit.error());
    }
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    // A first signal ends the sampling; what was sampled until then is shown.
    streams.finishing();
    if (!command.functions.empty()) {
        return run_function_calls(command, **node, streams, cancelled, output);
    }
    auto report = collect_alloc(**node, command.options, cancelled);
    if (report) {
        if (auto written = write_report(command, *report, report->allocation.stacks, alloc_terms,
                                        alloc_text, alloc_json, output);
            !written) {
            report = std::unexpected(written.error());
        }
    }
    return end_run(streams, report);
}

int run_threads(const ThreadsCommand& command, program::Streams& streams, Output& output,
                const std::atomic<bool>& cancelled) {
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    // A first signal ends the looking; what was seen until then is shown.
    streams.finishing();
    auto report = collect_threads(**node, command.options, cancelled);
    if (report) {
        if (command.node.json) {
            threads_json(output, *report);
        } else {
            output.fit_terminal();
            threads_text(output, *report, command.limit);
        }
        output.flush();
        if (!output.ok()) {
            report = std::unexpected(*output.error());
        }
    }
    return end_run(streams, report);
}

int run_top_command(const TopCommand& command, program::Streams& streams, Output& output,
                    const std::atomic<bool>& cancelled) {
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    streams.finishing();
    const auto outcome = run_top(**node, command.settings, command.node.json, output, cancelled);
    return outcome || outcome.error().code == ErrorCode::kClosedPipe
               ? kDone
               : give_up(streams, outcome.error());
}

int run_perf_map(const PerfMapCommand& command, program::Streams& streams, Output& output,
                 const std::atomic<bool>& cancelled) {
    auto node = open_node(command.node, cancelled);
    if (!node) {
        return give_up(streams, node.error());
    }
    auto outcome = perf_map(**node, output);
    output.flush();
    if (outcome && !output.ok()) {
        outcome = std::unexpected(*output.error());
    }
    streams.finishing();
    return outcome || outcome.error().code == ErrorCode::kClosedPipe
               ? kDone
               : give_up(streams, outcome.error());
}

/// Serves the other commands until standard input ends.
int run_mcp(const McpCommand& command, program::Streams& streams, Output& output,
            const std::atomic<bool>& cancelled, target::StopTracker& stops) {
    if (output.is_terminal()) {
        return give_up(streams, {ErrorCode::kUsage,
                                 "mcp speaks to a program: an assistant's client starts it, with "
                                 "pipes for standard input and output"});
    }
    if (const auto node = open_node(command.node, cancelled); !node) {
        return give_up(streams, node.error());
    }
    mcp::Session session(std::make_unique<NodeAnswers>(command, stops), output, command.longest);
    const auto served = mcp::serve(session, STDIN_FILENO, streams.out_descriptor);
    return served ? kDone : give_up(streams, served.error());
}

}  // namespace

int ask_node(const Command& command, program::Streams& streams, Output& output,
             const std::atomic<bool>& cancelled, target::StopTracker& stops) {
    if (const auto* profile = std::get_if<ProfileCommand>(&command)) {
        return run_profile(*profile, streams, output, cancelled, stops);
    }
    if (const auto* alloc = std::get_if<AllocCommand>(&command)) {
        return run_alloc(*alloc, streams, output, cancelled);
    }
    if (const auto* threads = std::get_if<ThreadsCommand>(&command)) {
        return run_threads(*threads, streams, output, cancelled);
    }
    if (const auto* top = std::get_if<TopCommand>(&command)) {
        return run_top_command(*top, streams, output, cancelled);
    }
    if (const auto* map = std::get_if<PerfMapCommand>(&command)) {
        return run_perf_map(*map, streams, output, cancelled);
    }
    return run_stacks(std::get<StacksCommand>(command), streams, output, cancelled, stops);
}

int run(const std::vector<std::string>& arguments, program::Streams& streams,
        const std::atomic<bool>& cancelled, target::StopTracker& stops) {
    auto parsed = parse_options(arguments);
    if (!parsed) {
        return give_up(streams, parsed.error());
    }
    if (const auto* answer = std::get_if<Answer>(&*parsed)) {
        streams.out << answer->text << std::flush;
        return kDone;
    }
    if (auto enough = program::ensure_descriptors(); !enough) {
        return give_up(streams, enough.error());
    }
    DescriptorOutput output(streams.out_descriptor, "standard output");
    if (const auto* serving = std::get_if<McpCommand>(&*parsed)) {
        return run_mcp(*serving, streams, output, cancelled, stops);
    }
    return ask_node(*parsed, streams, output, cancelled, stops);
}

}  // namespace beamdump::sampler
