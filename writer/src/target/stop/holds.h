#pragma once

#include "target/stop/guardian.h"

#include <libdump/base/error.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace beamdump::target {

struct StopCost {
    std::int64_t begin_monotonic_ns = 0;
    std::int64_t length_ns = 0;  ///< from the first thread's stop to the last one's resumption
    std::uint32_t threads = 0;
};

/// All stops of a node that this process makes, also those that could not be completed: while one
/// is under way the node is held. Safe from any thread; one hold at a time.
class Holds {
  public:
    /// Watched over by a guardian, or by none; non-owning.
    explicit Holds(Guardian* guardian = nullptr) : guardian_(guardian) {}
    /// Refuses every hold with that error.
    explicit Holds(Error refusal) : refusal_(std::move(refusal)) {}
    Holds(const Holds&) = delete;
    Holds& operator=(const Holds&) = delete;
    ~Holds() = default;

    /// From before the first thread is touched. It ends by then (CLOCK_MONOTONIC). kLimit: there is
    /// no guardian, and nothing may be held without it.
    Result<void> begin(std::int64_t deadline_ns);
    /// It will end later than was said.
    void extend(std::int64_t deadline_ns);
    /// Whether this process was stopped meanwhile, so that the hold is to end now.
    [[nodiscard]] bool interrupted() const;
    /// What a stop has cost, if it stopped anything.
    void add(const StopCost& cost);
    /// When no thread is held or traced any more. Later calls do nothing. If this process was
    /// stopped and woken only to end the hold, it stops again here.
    void end();

    /// In the order in which they ended.
    [[nodiscard]] std::vector<StopCost> costs() const;

    /// Calls `action` when nothing is held; meanwhile nothing is.
    void between(const std::function<void()>& action);
    /// The same, but does nothing where something is held now.
    void if_free(const std::function<void()>& action);

  private:
    Guardian* guardian_ = nullptr;
    std::optional<Error> refusal_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool kept_off_ = false;  // nothing may be held
    std::vector<StopCost> costs_;
};

}  // namespace beamdump::target
