#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libsample/events/sample.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace beamdump::sampler {

/// How a thread is sampled.
struct EventTerms {
    std::uint64_t period = 1'000'000;  ///< nanoseconds of the thread's processor time, or calls
    /// Calls of the function that begins here are sampled, not processor time.
    std::optional<std::uint64_t> breakpoint{};
    bool written = false;  ///< instead: what writes the 8 bytes at that address
    bool off = false;      ///< until switch_on()
    /// Whether each sample wakes who waits for the descriptor, which costs the thread some
    /// microseconds more.
    bool wakes = true;
    std::uint32_t stack_bytes = 32768;  ///< copied with each sample; a multiple of 8
    std::size_t ring_pages = 64;        ///< of the system, a power of two
};

/// Samples of one thread by the kernel's software clock (perf_event_open(2),
/// PERF_COUNT_SW_CPU_CLOCK), which needs no hardware counters: the kernel interrupts the thread
/// after each period of processor time that it used, and copies its registers and stack into a ring
/// buffer that this process has mapped. The thread is not stopped and not changed. The event ends
/// with this object, or with this process. Or samples by a breakpoint of the processor
/// (PERF_TYPE_BREAKPOINT), which changes no byte of the node either; x86-64 has four for each
/// thread.
class ThreadEvent {
  public:
    /// Samples include time in the kernel where that is allowed (kernel_seen()). kPermission: the
    /// kernel or a container forbids it; the sentence names what decides. kUnsupported: this kernel
    /// has no such events. kTargetDied: the thread has ended. kLimit: no descriptor, memory or
    /// breakpoint left.
    static Result<ThreadEvent> open(pid_t thread, const EventTerms& terms);

    ThreadEvent(ThreadEvent&&) noexcept = default;
    ThreadEvent& operator=(ThreadEvent&&) noexcept = default;

    /// Calls `visit` with each sample since the last call; a sample is valid during the call.
    /// Samples of threads without user code are dropped.
    Result<void> read(const std::function<void(const Sample&)>& visit);

    /// Whether it counts and samples.
    Result<void> switch_on();
    Result<void> switch_off();
    /// As switch_on(), but the kernel switches it off after so many samples. To be called when it
    /// is off and all samples have been read.
    Result<void> switch_on_for(std::uint64_t samples);
    /// As EventTerms::period; that of processor time begins anew.
    Result<void> set_period(std::uint64_t period);
    /// Calls while it was switched on.
    [[nodiscard]] Result<std::uint64_t> counted() const;
    /// How often the kernel held the event back for some milliseconds, since samples came too fast
    /// (kernel.perf_event_max_sample_rate). Calls meanwhile are not counted.
    [[nodiscard]] std::uint64_t held_back() const { return held_back_; }
    /// When that was first (CLOCK_MONOTONIC).
    [[nodiscard]] std::optional<std::uint64_t> held_back_since() const { return held_back_since_; }

    /// Samples that the kernel dropped since the ring was full.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    [[nodiscard]] bool kernel_seen() const { return kernel_seen_; }
    [[nodiscard]] pid_t thread() const { return thread_; }
    [[nodiscard]] int descriptor() const { return event_.get(); }

  private:
    struct Unmap {
        std::size_t bytes;
        void operator()(std::byte* ring) const;
    };
    ThreadEvent() = default;
    Result<void> map(std::size_t pages);
    Result<void> control(unsigned long request, unsigned long argument, std::string_view what);
    /// Bytes of the ring, whose end continues at its beginning.
    std::span<const std::byte> bytes_at(std::uint64_t position, std::size_t count);

    pid_t thread_ = 0;
    Descriptor event_;
    std::unique_ptr<std::byte, Unmap> ring_;  // a page of positions, then the data
    std::size_t data_bytes_ = 0;
    std::vector<std::byte> joined_;
    std::uint64_t allowed_ = 0;  // samples by switch_on_for() that were not taken yet
    std::uint64_t lost_ = 0;
    bool has_lost_ = false;  // since the last sample
    std::uint64_t held_back_ = 0;
    std::optional<std::uint64_t> held_back_since_;
    bool kernel_seen_ = true;
};

}  // namespace beamdump::sampler
