#pragma once

#include <libdump/profile/profile_report.h>
#include <libsample/profile/node_events.h>
#include <libsample/profile/sample_stacks.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

/// A scheduler as samples name it: "scheduler 1", "dirty CPU scheduler 1"; nothing of null.
std::optional<std::string> scheduler_text(const SchedulerPlace* scheduler);

/// Finds the atoms of the functions in a log. The node has kept them
/// (ObservedNode::keep_functions).
void name_functions(const ObservedNode& node, SampleLog& log);

/// Finds out what samples show, and adds them to a report. Non-owning.
class SampleCollector {
  public:
    SampleCollector(SampleStacks& stacks, NodeThreads& threads, ProfileReport& report)
        : stacks_(&stacks), threads_(&threads), report_(&report) {}

    /// All that events have.
    Result<void> take(NodeEvents& events);
    /// `name`: of the sample's thread.
    Result<void> take(const Sample& sample, const std::string& name);
    /// Of a thread that stands still until `ended`.
    Result<void> take_stopped(const Sample& sample, const std::string& name,
                              const std::function<bool()>& ended);
    void add(const SampleStack& stack, const SampledThread& thread);
    /// Completes the report with how soon after its sample each stack was read, and begins anew.
    void tell_delays();

  private:
    void add(const SampleStack& stack, const Sample& sample, const std::string& name);

    SampleStacks* stacks_;
    NodeThreads* threads_;
    ProfileReport* report_;
    std::vector<std::int64_t> delays_;
};

}  // namespace beamdump::sampler
