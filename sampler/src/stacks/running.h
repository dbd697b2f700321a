#pragma once

#include "stacks/collect.h"

#include <libsample/events/thread_event.h>
#include <libsample/events/threads.h>
#include <libvm/beam/activity/schedulers.h>

#include <map>

namespace beamdump::sampler {

/// Reads the stacks of what schedulers run, while they run: one sample of each busy thread; where
/// that shows native code, what the process's structure proves.
class RunningStacks {
  public:
    /// Reads what each scheduler has now. Non-owning.
    static Result<RunningStacks> open(ObservedNode& node, ProcessStacks& stacks);

    /// Tries all schedulers that have a process until each has a stack, or `patience` is over.
    Result<void> read(std::chrono::milliseconds patience, const std::atomic<bool>& cancelled,
                      StacksReport& report);

    [[nodiscard]] std::vector<SchedulerStack>& schedulers() { return schedulers_; }
    /// The structure of the process of each scheduler, in the same order; 0: none.
    [[nodiscard]] const std::vector<Address>& processes() const { return processes_; }
    /// The structure of each scheduler, in the same order.
    [[nodiscard]] const std::vector<Address>& structures() const { return structures_; }

  private:
    RunningStacks(ObservedNode& node, ProcessStacks& stacks) : node_(&node), stacks_(&stacks) {}

    void open_events(StacksReport& report);
    Result<void> attempt(std::size_t index, StacksReport& report);
    Result<void> sample(std::size_t index, StacksReport& report);
    Result<void> dirty(std::size_t index, const beam::IdSlot& slot, StacksReport& report);
    std::optional<ThreadImage> image_of(std::size_t index);
    void take(std::size_t index, StackTry found, StacksReport& report);

    ObservedNode* node_;
    ProcessStacks* stacks_;
    std::vector<SchedulerStack> schedulers_;
    std::vector<Address> processes_, structures_;
    std::vector<std::optional<Address>> native_;  // where a sample showed native code to return to
    std::vector<std::optional<ThreadImage>> images_;  // of these samples
    std::map<std::size_t, ThreadEvent> events_;       // by index of the scheduler
};

}  // namespace beamdump::sampler
