#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libvm/target/stop/stop_tracker.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace beamdump::program {

/// Turns SIGINT, SIGTERM and SIGHUP into a flag. The first signal sets it, so that the node is
/// resumed and the output closed in order. If that takes longer than kPatience (frames are being
/// compressed, a pipe is not read) and the node is not stopped, this process ends at once with
/// status 1 and a sentence. It also ends, whether or not the node is stopped, at a second signal,
/// kGrace after the first one, and when the output accepts nothing for kPatience; the kernel then
/// resumes the node.
/// SIGTSTP (Ctrl-Z) stops this process once the node is not stopped. SIGTTIN and SIGTTOU are
/// blocked: they would stop it at any moment. A signal that was ignored when the program started
/// stays ignored. To be constructed before any thread is started.
class CancelOnSignal {
  public:
    static constexpr std::chrono::milliseconds kGrace{5000};
    static constexpr std::chrono::milliseconds kPatience{120};

    /// `holds`, non-owning: says when this process must not stop.
    static Result<std::unique_ptr<CancelOnSignal>> start(target::StopTracker& stops,
                                                         std::chrono::milliseconds grace = kGrace);
    CancelOnSignal(const CancelOnSignal&) = delete;
    CancelOnSignal& operator=(const CancelOnSignal&) = delete;
    ~CancelOnSignal();

    [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }

    /// To be called before the outcome of the run is written and before the output gets its final
    /// name: from here on only kGrace ends this process, and no other sentence contradicts them.
    void finishing();

    /// Wraps a sink and tracks whether it accepts data. Must not outlive this object.
    std::unique_ptr<ByteSink> watched(std::unique_ptr<ByteSink> sink);

  private:
    CancelOnSignal(target::StopTracker& stops, Descriptor signals, Descriptor wake,
                   std::chrono::milliseconds grace);
    void watch();
    void stop_ourselves();
    /// `cancelled`: the time of the first signal.
    [[nodiscard]] bool output_stalls(std::chrono::nanoseconds cancelled) const;
    /// Writes the reason and ends this process.
    [[noreturn]] void end_now() const;
    [[nodiscard]] int next_signal(int timeout_ms) const;
    [[nodiscard]] bool signalled(int timeout_ms);

    std::atomic<bool> cancelled_ = false;
    std::atomic<bool> finished_ = false;
    /// Start of the present write to the output, in the steady clock's units; 0: no write is in
    /// progress.
    std::atomic<std::chrono::nanoseconds::rep> writing_since_ = 0;
    std::mutex ending_;  ///< of concluding() and end_now(), whichever is first
    bool finishing_ = false;
    target::StopTracker& stops_;
    Descriptor signals_;
    Descriptor wake_;
    std::chrono::milliseconds grace_;
    std::thread watcher_;
};

}  // namespace beamdump::program
