#include "cli/progress.h"

#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

namespace beamdump::cli {

void ProgressLine::update(std::string_view phase, std::uint64_t done,
                          std::optional<std::uint64_t> total,
                          const std::function<std::string()>& remark) {
    using namespace std::chrono_literals;
    constexpr std::size_t kWidth = 30;
    const auto time = std::chrono::steady_clock::now();
    if (time < next_) {
        return;
    }
    next_ = time + 100ms;
    if (listener_) {
        listener_(phase, done, total);
        return;
    }
    // Asked anew, as a pager may have taken standard error.
    if (!err_.is_terminal()) {
        return;
    }
    std::string bar;
    std::string count;
    if (total && *total > 0) {
        const auto full = static_cast<std::size_t>(static_cast<double>(done) /
                                                   static_cast<double>(*total) * kWidth);
        bar = fmt::format("[{:=<{}}{: <{}}] ", "", full, "", kWidth - full);
        count = fmt::format(" {} of {}", count_text(done), count_text(*total));
    }
    err_.write_control("\r\x1b[K");
    err_.print("{}{}{}{}", bar, phase, count, remark ? remark() : std::string());
    err_.flush();
    shown_ = true;
}

void ProgressLine::say(std::string_view sentence) {
    if (err_.is_terminal()) {
        clear();
        err_.print("{}\n", render::one_line(sentence));
        err_.flush();
    }
}

void ProgressLine::clear() {
    // A pager that has taken standard error has removed the line.
    if (shown_ && err_.is_terminal()) {
        err_.write_control("\r\x1b[K");
        err_.flush();
    }
    shown_ = false;
}

}  // namespace beamdump::cli
