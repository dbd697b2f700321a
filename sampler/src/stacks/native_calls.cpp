#include "stacks/native_calls.h"

#include <libsample/native/native_frames.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

void name_frames(ObservedNode& node, ProcessStacks& stacks, NativeFrames& native, Address structure,
                 SchedulerStack& scheduler) {
    const auto sample = scheduler.image->sample();
    const auto found =
        native.unwind(sample, [&node](Address address) { return node.in_code(address); });
    const bool normal = scheduler.kind == records::SCHEDULER_KIND_NORMAL;
    if (normal && found.leads_to && found.leads_to != stacks.native_return(structure, sample)) {
        return;
    }
    if (sample.in_kernel) {
        scheduler.native_frames.emplace_back(kInKernel);
    }
    for (const auto place : found.places) {
        scheduler.native_frames.push_back(native.name_at(place));
    }
    scheduler.more_native = !found.whole || (normal && !found.leads_to);
}

}  // namespace

void name_native_frames(ObservedNode& node, ProcessStacks& stacks,
                        std::span<const Address> structures, std::span<SchedulerStack> schedulers,
                        StacksReport& report) {
    const auto has_image = [](const SchedulerStack& scheduler) {
        return scheduler.image && scheduler.stack;
    };
    if (std::ranges::none_of(schedulers, has_image)) {
        return;
    }
    auto native = NativeFrames::open(node.vm().target());
    if (!native) {
        report.remarks.push_back(
            fmt::format("native frames are not shown: {}", native.error().message));
        return;
    }
    for (std::size_t index = 0; index < schedulers.size(); ++index) {
        if (has_image(schedulers[index])) {
            name_frames(node, stacks, *native, structures[index], schedulers[index]);
        }
    }
}

}  // namespace beamdump::sampler
