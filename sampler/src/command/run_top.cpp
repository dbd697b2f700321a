#include "command/run_top.h"

#include "screen/top_screen.h"
#include "show/top_text.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
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

}  // namespace

Result<void> run_top(ObservedNode& node, const TopSettings& settings, bool json,
                     program::Streams& streams, const std::atomic<bool>& cancelled) {
    DescriptorOutput output(streams.out_descriptor, "standard output");
    const bool screen =
        output.is_terminal() && ::isatty(STDIN_FILENO) == 1 && !json && !settings.count;
    auto outcome = screen ? top_screen(node, settings.options, settings.interval, cancelled)
                          : write_lines(node, settings, json, output, cancelled);
    // A signal during a reading ends it with an error, which is none.
    return cancelled ? Result<void>() : outcome;
}

}  // namespace beamdump::sampler
