#include "threads/lock_names.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/layout/runtime_names.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::sampler {
namespace {

std::string queue_name(const records::RunQueue& queue) {
    switch (queue.kind()) {
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return "run queue of dirty CPU schedulers";
        case records::SCHEDULER_KIND_DIRTY_IO:
            return "run queue of dirty I/O schedulers";
        default:
            return fmt::format("run queue of scheduler {}", queue.number());
    }
}

}  // namespace

Result<LockNames> LockNames::open(ObservedNode& node, SampleStacks& stacks) {
    LockNames names(node, stacks);
    RETURN_IF_ERROR(names.add_run_queues());
    names.add_allocators();
    return names;
}

Result<void> LockNames::add_run_queues() {
    beam::LayoutNames layout(node_->vm().layout());
    const auto bytes = layout.bytes(beam::runtime::ErtsRunQueue::kName);
    auto reader = beam::SchedulerReader::open(node_->vm());
    if (!reader || !layout.outcome()) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto read, reader->read());
    for (const auto& queue : read.schedulers.run_queue()) {
        if (queue.has_struct_address()) {
            named_.push_back(
                {{queue.struct_address(), queue.struct_address() + bytes}, queue_name(queue)});
        }
    }
    return {};
}

void LockNames::add_allocators() {
    beam::LayoutNames layout(node_->vm().layout());
    const auto bytes = layout.bytes(beam::runtime::Allctr::kName);
    auto reader = beam::AllocatorReader::open(node_->vm());
    const auto places =
        reader && layout.outcome() ? reader->places() : std::vector<beam::AllocatorPlace>();
    if (!places) {
        return;
    }
    for (const auto& place : *places) {
        if (const auto state = reader->state(place)) {
            named_.push_back({{place.address, place.address + bytes},
                              fmt::format("{}, instance {}", state->record.name(), place.index)});
        }
    }
}

std::optional<std::string> LockNames::at(Address address) {
    const auto known = std::ranges::find_if(
        named_, [address](const Named& one) { return one.range.contains(address); });
    return known == named_.end() ? stacks_->variable_at(address) : std::optional(known->name);
}

}  // namespace beamdump::sampler
