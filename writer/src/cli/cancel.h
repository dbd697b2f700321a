#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace beamdump::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a flag. The first sets it, so that the node is resumed and
/// the output closed in order. The second, or kGrace after the first (the output may be a pipe that
/// nobody reads), ends this process at once with status 1; the kernel resumes the node.
/// A signal that was ignored when the program started stays ignored. To be made before any thread.
class CancelOnSignal {
  public:
    static constexpr std::chrono::milliseconds kGrace{5000};

    static Result<std::unique_ptr<CancelOnSignal>> start(std::chrono::milliseconds grace = kGrace);
    CancelOnSignal(const CancelOnSignal&) = delete;
    CancelOnSignal& operator=(const CancelOnSignal&) = delete;
    ~CancelOnSignal();

    [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }

  private:
    CancelOnSignal(Descriptor signals, Descriptor wake, std::chrono::milliseconds grace);
    void watch();
    [[nodiscard]] bool signalled(int timeout_ms) const;

    std::atomic<bool> cancelled_ = false;
    std::atomic<bool> finished_ = false;
    Descriptor signals_;
    Descriptor wake_;
    std::chrono::milliseconds grace_;
    std::thread watcher_;
};

}  // namespace beamdump::cli
