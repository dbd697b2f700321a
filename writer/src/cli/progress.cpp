#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kBarInterval = 100ms;
constexpr auto kFirstLine = 1s;
constexpr auto kLineInterval = 3s;
constexpr std::size_t kMaxBarWidth = 30;

std::string count_text(const capture::Progress& progress) {
    return progress.total ? fmt::format("{} of {}", progress.done, *progress.total)
                          : fmt::format("{}", progress.done);
}

std::string bytes_moved(const capture::Progress& progress) {
    return fmt::format("{} read, {} written", bytes_text(progress.bytes_read),
                       bytes_text(progress.bytes_written));
}

}  // namespace

ProgressPrinter::ProgressPrinter(program::Streams& streams, Clock clock)
    : streams_(streams), clock_(std::move(clock)), next_(clock_()) {
    if (!streams_.err_is_terminal) {
        next_ += kFirstLine;
    }
}

void ProgressPrinter::update(const capture::Progress& progress) {
    const auto time = clock_();
    if (time < next_ || !streams_.err_ready()) {
        return;
    }
    if (streams_.err_is_terminal) {
        next_ = time + kBarInterval;
        shown_ = true;
        streams_.err << bar(progress) << std::flush;
    } else {
        next_ = time + kLineInterval;
        streams_.err << fmt::format("beamdump-capture: {} {}, {}\n", progress.phase,
                                    count_text(progress), bytes_moved(progress))
                     << std::flush;
    }
}

/// One terminal line, never wider than the terminal.
std::string ProgressPrinter::bar(const capture::Progress& progress) const {
    const auto text =
        fmt::format("{} {}, {}", progress.phase, count_text(progress), bytes_moved(progress));
    const auto room = streams_.columns > text.size() + 4 ? streams_.columns - text.size() - 4 : 0;
    const auto width = std::min(room, kMaxBarWidth);
    std::string line;
    if (progress.total && *progress.total > 0 && width > 0) {
        const auto share = std::min(
            1.0, static_cast<double>(progress.done) / static_cast<double>(*progress.total));
        const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
        line = fmt::format("[{:=<{}}{: <{}}] ", "", full, "", width - full);
    }
    line += text;
    return "\r\x1b[K" +
           line.substr(0, streams_.columns - std::min<std::size_t>(streams_.columns, 1));
}

void ProgressPrinter::clear() {
    if (std::exchange(shown_, false)) {
        streams_.err << "\r\x1b[K" << std::flush;
    }
}

}  // namespace beamdump::cli
