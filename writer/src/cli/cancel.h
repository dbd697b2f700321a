#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <atomic>
#include <memory>
#include <thread>

namespace beamdump::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a flag. The first sets it, so that the node is resumed and
/// the output closed in order; the second ends this process at once (the kernel resumes the node).
/// A signal that was ignored when the program started stays ignored. To be made before any thread.
class CancelOnSignal {
  public:
    static Result<std::unique_ptr<CancelOnSignal>> start();
    CancelOnSignal(const CancelOnSignal&) = delete;
    CancelOnSignal& operator=(const CancelOnSignal&) = delete;
    ~CancelOnSignal();

    [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }

  private:
    CancelOnSignal(Descriptor signals, Descriptor wake);
    void watch();

    std::atomic<bool> cancelled_ = false;
    std::atomic<bool> finished_ = false;
    Descriptor signals_;
    Descriptor wake_;
    std::thread watcher_;
};

}  // namespace beamdump::cli
