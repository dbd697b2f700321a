#include <libdump/base/budget.h>
#include <libdump/base/return_if_error.h>
#include <libdump/read/frames/frame_store.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

namespace {

/// Number of steps in one direction after which the next frame is loaded ahead.
constexpr std::size_t kRunThatGoesOn = 3;

/// Frames that several threads load ahead: so many for each, and their bytes.
constexpr std::size_t kAheadOfAThread = 4;
constexpr std::size_t kAheadBytes = 8U << 20U;

/// Why no frame holds a flat offset.
Error no_frame(const FrameIndex& index, const std::string& name, std::uint64_t flat_offset) {
    if (flat_offset >= index.flat_bytes()) {
        return {ErrorCode::kCorrupt,
                fmt::format("flat offset {} is behind the end of {} ({} bytes of stream)",
                            flat_offset, name, index.flat_bytes())};
    }
    const std::size_t after = index.first_after(flat_offset);
    const FrameRef& next = index.frames()[after];
    const std::uint64_t begin = after == 0 ? 0 : index.frames()[after - 1].file_end();
    return {ErrorCode::kCorrupt,
            fmt::format("flat offset {} was in a frame of {} that is damaged or lost, before frame "
                        "{} (bytes {} to {} of the file)",
                        flat_offset, name, next.sequence, begin, next.file_offset)};
}

}  // namespace

Result<std::shared_ptr<const Frame>> FrameStore::at(std::uint64_t flat_offset) {
    const auto position = index_.find(flat_offset);
    if (!position) {
        return std::unexpected(no_frame(index_, file_.name(), flat_offset));
    }
    return by_position(*position);
}

Result<std::shared_ptr<const Frame>> FrameStore::by_position(std::size_t position) {
    RETURN_IF_ERROR(check_stop(stop_));
    if (auto held = cache_.find(position)) {
        return held;
    }
    if (const auto known = failed_.find(position); known != failed_.end()) {
        return std::unexpected(known->second);
    }
    auto loaded = load(position);
    read_on(position);
    if (loaded) {
        cache_.insert(position, *loaded);
    } else {
        remember(position, loaded.error());
    }
    return loaded;
}

void FrameStore::remember(std::size_t position, const Error& error) {
    failed_.emplace(position, error);
    if (!unreadable_) {
        unreadable_ = UnreadableFrames{.frames = 0, .first = error};
    }
    unreadable_->frames = failed_.size();
}

Result<std::shared_ptr<const Frame>> FrameStore::load(std::size_t position) {
    if (ahead_ != nullptr) {
        if (auto taken = ahead_->take(position)) {
            return std::move(*taken);
        }
    }
    return loader_.load(file_, index_.frames()[position]);
}

/// The run that a miss at `position` continues, or begins in place of the oldest one; now the first
/// one of all.
FrameStore::Run& FrameStore::run_with(std::size_t position) {
    auto found = std::ranges::find_if(runs_, [position](const Run& run) {
        const auto step =
            static_cast<std::ptrdiff_t>(position) - static_cast<std::ptrdiff_t>(run.last);
        return step == 1 || step == -1;
    });
    const bool near = found != runs_.end();
    if (!near) {
        found = std::prev(runs_.end());
    }
    const auto step =
        static_cast<std::ptrdiff_t>(position) - static_cast<std::ptrdiff_t>(found->last);
    const bool goes_on = near && step == found->step;
    *found = {.last = position, .step = step, .length = goes_on ? found->length + 1 : 1};
    std::rotate(runs_.begin(), found, std::next(found));
    return runs_.front();
}

/// After a miss at `position`: loads the next frames ahead if it continues a run of misses.
void FrameStore::read_on(std::size_t position) {
    const Run& run = run_with(position);
    if (run.length >= kRunThatGoesOn) {
        fetch_after(position, run.step);
    }
}

void FrameStore::fetch_after(std::size_t position, std::ptrdiff_t step) {
    // What one run fetches must not drop what another one did.
    const std::size_t most = threads_ > 1 ? kAheadOfAThread / 2 : 1;
    for (std::size_t count = 0; count < most; ++count) {
        // Before the first frame this wraps around to a position beyond the last.
        position += static_cast<std::size_t>(step);
        if (position >= index_.frames().size()) {
            return;
        }
        FrameAhead* const reads = cache_.holds(position) ? nullptr : ahead();
        if (reads != nullptr && !reads->has(position)) {
            reads->fetch(position, index_.frames()[position]);
        }
    }
}

FrameAhead* FrameStore::ahead() {
    if (ahead_ == nullptr && !ahead_failed_) {
        const FrameAhead::Bounds bounds =
            threads_ > 1 ? FrameAhead::Bounds{.threads = threads_,
                                              .frames = threads_ * kAheadOfAThread,
                                              .bytes = kAheadBytes}
                         : FrameAhead::Bounds();
        ahead_ = FrameAhead::start(file_, loader_, bounds);
        // Continues without loading ahead.
        ahead_failed_ = ahead_ == nullptr;
    }
    return ahead_.get();
}

ReadStats FrameStore::stats() const {
    ReadStats stats{.frames_decompressed = loader_.decompressed(),
                    .file_bytes_read = file_.bytes_read()};
    if (ahead_ != nullptr) {
        const ReadStats more = ahead_->stats();
        stats.frames_decompressed += more.frames_decompressed;
        stats.file_bytes_read += more.file_bytes_read;
    }
    return stats;
}

}  // namespace beamdump
