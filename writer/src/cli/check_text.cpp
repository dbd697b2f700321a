#include "cli/check_text.h"

#include "capture/modes/snapshot.h"
#include "capture/modes/stops.h"
#include "capture/session/session.h"
#include "cli/progress.h"

#include <libdump/base/terminal_text.h>
#include <libvm/fit/layout_text.h>

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace beamdump::cli {
namespace {

constexpr double kGibibyte = 1U << 30U;
/// Measured on the standard node (docs/benchmarks.md): the kernel's fork, and copying in one stop.
/// Stops were up to four times as long with all processors busy.
constexpr double kForkMillisecondsPerGib = 35;
constexpr double kBusyForkMillisecondsPerGib = 140;
constexpr double kStopMilliseconds = 1;
constexpr double kBusyStopMilliseconds = 10;
constexpr double kFreezeSecondsPerGib = 2;

std::string node_lines(const check::NodeCheck& check) {
    const auto& vm = check.vm;
    auto text = fmt::format(
        "{}: OTP {} (ERTS {}), {}, 64-bit words\n",
        check.node_name.empty() ? "a node without a name" : one_line(check.node_name),
        one_line(vm.otp_release), one_line(vm.erts_version), vm.jit ? "JIT" : "interpreter");
    text += fmt::format("  process {}, {}, of user {}\n", check.access.pid,
                        one_line(check.executable), one_line(check.access.target_user));
    text += fmt::format("  {} processes, at most {}; schedulers: {}, dirty {} + {}; {} threads\n",
                        check.processes, check.process_limit, vm.schedulers,
                        vm.dirty_cpu_schedulers, vm.dirty_io_schedulers, check.threads);
    text += fmt::format(
        "  {} resident, {}\n", bytes_text(check.resident_bytes),
        check.swapped ? "some of it swapped out (not in the dump)" : "nothing swapped out");
    return text;
}

std::string found_lines(const check::NodeCheck& check) {
    std::string text = "\nFound by\n";
    for (const auto& found : check.found) {
        text += fmt::format("  {:<32} {:#14x}  {}\n", one_line(found.name), found.address,
                            one_line(found.how));
    }
    return text;
}

std::string stop_lines(const check::NodeCheck& check) {
    constexpr std::string_view kMargin = "                   ";
    const auto gibibytes = static_cast<double>(check.resident_bytes) / kGibibyte;
    const auto short_stops =
        fmt::format("stops of at most {} ms each (--max-pause), {} at most",
                    check.max_pause.count(), capture::kMaxStops * target::kStopAttempts);
    std::string text = "  --mode live      no stop\n";
    text += fmt::format(
        "  --mode auto      no stop if every process pauses at times; otherwise {}\n", short_stops);
    if (!check.short_twin) {
        text += fmt::format("{}processes too large for such a stop are left out: {}\n", kMargin,
                            one_line(check.short_twin.error().message));
    }
    if (check.twin) {
        text += fmt::format(
            "  --mode snapshot  one stop of about {:.0f} ms on an idle machine, {:.0f} ms on a "
            "busy "
            "one; abandoned after {} ms\n",
            kStopMilliseconds + gibibytes * kForkMillisecondsPerGib,
            kBusyStopMilliseconds + gibibytes * kBusyForkMillisecondsPerGib,
            std::chrono::duration_cast<std::chrono::milliseconds>(check.longest_twin_stop).count());
        text += fmt::format("{}at most {} attempts, none after one that took more than {} ms\n",
                            kMargin, target::kStopAttempts, capture::kShortAttempt.count());
        text += fmt::format(
            "{}then, for processes that were running and did not yield within 1.2 ms, {}\n",
            kMargin, short_stops);
        text += fmt::format("{}up to {} more memory during the capture\n", kMargin,
                            bytes_text(check.twin->memory_bytes()));
    } else {
        text +=
            fmt::format("  --mode snapshot  refused: {}\n", one_line(check.twin.error().message));
    }
    text += fmt::format("  --mode freeze    one stop of about {:.1f} s\n",
                        gibibytes * kFreezeSecondsPerGib);
    return text;
}

std::string capture_lines(const check::NodeCheck& check) {
    std::string text = "\nA capture\n";
    text +=
        fmt::format("  may read and stop the node, as user {}{}\n", one_line(check.access.our_user),
                    check.access.tracer == 0
                        ? ""
                        : fmt::format(", but process {} ({}) traces it already: only --mode "
                                      "live is possible",
                                      check.access.tracer, one_line(check.access.tracer_program)));
    text += fmt::format("  writes about {} or less: {} of a sample of {} after compression\n",
                        bytes_text(check.dump.dump_bytes), bytes_text(check.dump.compressed_bytes),
                        bytes_text(check.dump.sampled_bytes));
    text += check.memory_left ? fmt::format("  memory left to the node: {} ({})\n",
                                            bytes_text(check.memory_left->amount),
                                            one_line(check.memory_left->limit))
                              : fmt::format("  memory left to the node: {}\n",
                                            one_line(check.memory_left.error().message));
    return text + stop_lines(check);
}

}  // namespace

std::string check_text(const check::NodeCheck& check, const std::string& plan, bool verbose) {
    return node_lines(check) + capture_lines(check) + plan + '\n' + fit::layout_text(check.layout) +
           (verbose ? found_lines(check)
                    : "  --verbose: which of its fields the checks verify, and how each table was "
                      "found\n");
}

}  // namespace beamdump::cli
