#pragma once

#include <libsample/events/thread_event.h>
#include <libsample/events/threads.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

namespace beamdump::sampler {

/// What is sampled, as EventTerms say.
struct NodeEventTerms {
    std::uint64_t period = 1'000'000;
    std::optional<std::uint64_t> breakpoint{};
    /// In place of a breakpoint: the address of 8 bytes of each thread, what writes to which is
    /// sampled. Threads without one have no event.
    std::function<std::optional<std::uint64_t>(pid_t thread)> written{};
    bool schedulers_only = false;  ///< of normal schedulers, which alone run Erlang code
    /// After every eight samples of a thread its period is set to a random one, from half of
    /// `period` to one and a half: work that repeats with exactly that period would always be seen
    /// in the same phase. Of processor time alone.
    bool random_period = false;
    bool off = false;
    bool wakes = true;
    std::uint32_t scheduler_stack_bytes = 32768;
    /// Pages of a scheduler's ring, a power of two: fewer where the kernel does not allow as much
    /// locked memory.
    std::size_t ring_pages = 128;
};

/// Samples of all threads of a node, those that are born later too. Ends with this object.
class NodeEvents {
  public:
    /// Opens an event a thread. Errors as ThreadEvent::open(), if a scheduler's thread cannot be
    /// sampled.
    static Result<NodeEvents> open(pid_t pid, const NodeEventTerms& terms);

    /// Opens events of threads that are new since; of those that have taken the place of others,
    /// within a second. Of those that cannot be, not_sampled() tells.
    Result<void> refresh();
    /// A descriptor that is readable while samples wait (poll(2)), for who waits for other things
    /// too; wait() notes threads that have ended.
    Result<int> descriptor();
    /// Waits for the next sample, at most that long.
    Result<void> wait(std::chrono::milliseconds longest);
    /// Calls `visit` with each sample since the last call and the name of its thread.
    Result<void> read(const std::function<void(const Sample&, const std::string&)>& visit);

    /// As ThreadEvent's, for all threads.
    Result<void> switch_on();
    Result<void> switch_on_for(std::uint64_t samples);
    Result<void> switch_off();
    Result<void> set_period(std::uint64_t calls);
    [[nodiscard]] Result<std::uint64_t> counted() const;
    /// What each of the threads that there are now has counted.
    [[nodiscard]] Result<std::map<pid_t, std::uint64_t>> counted_by_thread() const;
    /// When the first of their events was held back.
    [[nodiscard]] std::optional<std::uint64_t> held_back_since() const;
    [[nodiscard]] std::uint64_t held_back() const;

    /// Samples that the kernel dropped since they were not read soon enough.
    [[nodiscard]] std::uint64_t lost() const;
    /// Threads without an event, by the reason.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& not_sampled() const {
        return not_sampled_;
    }
    /// Whether time in the kernel is sampled.
    [[nodiscard]] bool kernel_seen() const;

  private:
    struct Sampled {
        std::string name;
        ThreadEvent event;
        bool ended = false;
        std::uint32_t of_period = 0;  // samples since its period was set
    };
    NodeEvents(pid_t pid, const NodeEventTerms& terms) : pid_(pid), terms_(terms) {}
    Result<bool> threads_changed();
    [[nodiscard]] Result<void> wait_for(pid_t thread, const ThreadEvent& event) const;
    [[nodiscard]] bool wants(const NodeThread& thread) const;
    [[nodiscard]] Result<ThreadEvent> open_event(const NodeThread& thread) const;
    Result<void> set_random_period(Sampled& thread);

    pid_t pid_;
    NodeEventTerms terms_;
    std::map<pid_t, Sampled> threads_;
    Descriptor waited_;  // an epoll of their events, from descriptor() on
    std::uint64_t thread_count_ = 0;
    std::chrono::steady_clock::time_point threads_listed_{};
    std::set<pid_t> refused_;
    std::map<std::string, std::uint64_t> not_sampled_;
    std::uint64_t lost_of_ended_ = 0;
    std::uint64_t counted_of_ended_ = 0;
    std::uint64_t held_back_of_ended_ = 0;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace beamdump::sampler
