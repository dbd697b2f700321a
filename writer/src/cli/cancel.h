#pragma once

#include "target/holds.h"

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libdump/write/byte_sink.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace beamdump::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a flag. The first sets it, so that the node is resumed and
/// the output closed in order. The second, or kGrace after the first, or an output that takes
/// nothing for kPatience (it may be a pipe that nobody reads), ends this process at once with
/// status 1; the kernel resumes the node.
/// SIGTSTP (Ctrl-Z) stops this process when the node is not held. SIGTTIN and SIGTTOU are blocked:
/// they would stop it at any moment. A signal that was ignored when the program started stays
/// ignored. To be made before any thread.
class CancelOnSignal {
  public:
    static constexpr std::chrono::milliseconds kGrace{5000};
    static constexpr std::chrono::milliseconds kPatience{200};

    /// `holds`, non-owning: what must not be stopped in.
    static Result<std::unique_ptr<CancelOnSignal>> start(target::Holds& holds,
                                                         std::chrono::milliseconds grace = kGrace);
    CancelOnSignal(const CancelOnSignal&) = delete;
    CancelOnSignal& operator=(const CancelOnSignal&) = delete;
    ~CancelOnSignal();

    [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }

    /// A sink of which it is known whether it takes anything. Must not outlive this object.
    std::unique_ptr<ByteSink> watched(std::unique_ptr<ByteSink> sink);

  private:
    CancelOnSignal(target::Holds& holds, Descriptor signals, Descriptor wake,
                   std::chrono::milliseconds grace);
    void watch();
    void stop_ourselves();
    /// `cancelled`: since when its end is wanted.
    [[nodiscard]] bool output_stalls(std::chrono::nanoseconds cancelled) const;
    [[nodiscard]] int next_signal(int timeout_ms) const;
    [[nodiscard]] bool signalled(int timeout_ms);

    std::atomic<bool> cancelled_ = false;
    std::atomic<bool> finished_ = false;
    /// Since when the output has been taking what it was given, of the steady clock; 0: it took
    /// all.
    std::atomic<std::chrono::nanoseconds::rep> writing_since_ = 0;
    target::Holds& holds_;
    Descriptor signals_;
    Descriptor wake_;
    std::chrono::milliseconds grace_;
    std::thread watcher_;
};

}  // namespace beamdump::cli
