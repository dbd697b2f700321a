#pragma once

#include <libvm/target/stop/timed_stop.h>

#include <records.pb.h>

#include <functional>
#include <utility>

namespace beamdump::capture {

/// The node stopped, for as long as the object lives or until the stop ends by itself: its time is
/// up, the output stalls, the capture is cancelled.
class NodeStop {
  public:
    /// `on_end` is called once, when the node runs again.
    NodeStop(target::TimedStop stop, std::function<void()> on_end)
        : stop_(std::move(stop)), on_end_(std::move(on_end)) {}
    NodeStop(NodeStop&& other) noexcept
        : stop_(std::move(other.stop_)), on_end_(std::exchange(other.on_end_, nullptr)) {}
    NodeStop& operator=(NodeStop&&) = delete;
    NodeStop(const NodeStop&) = delete;
    NodeStop& operator=(const NodeStop&) = delete;
    ~NodeStop() { end(); }

    /// The node runs, or may run from here on.
    [[nodiscard]] bool expired() const { return stop_.expired(); }
    /// Since the stop began.
    [[nodiscard]] std::chrono::nanoseconds elapsed() const { return stop_.elapsed(); }
    /// LIMIT once the stop has expired: a copy that is not complete by then is void.
    [[nodiscard]] Result<records::VoidReason> watch() const {
        return expired() ? records::VOID_REASON_LIMIT : records::VOID_REASON_NONE;
    }

    /// Resumes the node. Later calls do nothing.
    void end() {
        if (on_end_) {
            stop_.end();
            std::exchange(on_end_, nullptr)();
        }
    }

  private:
    target::TimedStop stop_;
    std::function<void()> on_end_;
};

}  // namespace beamdump::capture
