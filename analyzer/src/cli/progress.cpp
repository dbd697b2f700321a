#include "cli/progress.h"

#include "render/units.h"

#include <fmt/format.h>

namespace beamdump::cli {

void ProgressLine::update(const crash_dump::Progress& progress) {
    using namespace std::chrono_literals;
    constexpr std::size_t kWidth = 30;
    if (!shows_) {
        return;
    }
    const auto time = std::chrono::steady_clock::now();
    if (time < next_) {
        return;
    }
    next_ = time + 100ms;
    std::string bar;
    std::string count;
    if (progress.total && *progress.total > 0) {
        const auto full = static_cast<std::size_t>(static_cast<double>(progress.done) /
                                                   static_cast<double>(*progress.total) * kWidth);
        bar = fmt::format("[{:=<{}}{: <{}}] ", "", full, "", kWidth - full);
        count = fmt::format(" {} of {}", render::count_text(progress.done),
                            render::count_text(*progress.total));
    }
    err_.print("\r\x1b[K{}{}{}, {} written", bar, progress.phase, count,
               render::bytes_text(progress.bytes));
    err_.flush();
    shown_ = true;
}

void ProgressLine::clear() {
    if (shown_) {
        err_.write("\r\x1b[K");
        err_.flush();
        shown_ = false;
    }
}

}  // namespace beamdump::cli
