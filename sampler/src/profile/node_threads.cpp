#include "profile/node_threads.h"

#include "beam/activity/schedulers.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <set>

namespace beamdump::sampler {

Result<NodeThreads> NodeThreads::open(ObservedNode& node, ProcessStacks& stacks) {
    NodeThreads threads;
    ASSIGN_OR_RETURN(auto reader, beam::SchedulerReader::open(node.vm()));
    ASSIGN_OR_RETURN(const auto read, reader.read());
    for (const auto& from : read.schedulers.scheduler()) {
        SchedulerPlace place{
            .kind = from.kind(), .number = from.number(), .structure = from.struct_address()};
        if (from.kind() == records::SCHEDULER_KIND_NORMAL && node.vm().facts().jit) {
            ASSIGN_OR_RETURN(place.return_slot, stacks.return_slot(place.structure));
            if (const auto* mapping = node.vm().target().mappings().find(*place.return_slot)) {
                place.stack = mapping->range;
            }
        }
        threads.schedulers_.emplace(std::pair(place.kind, place.number), place);
    }
    ASSIGN_OR_RETURN(auto all, threads_of_node(node.vm().target().pid()));
    std::ranges::sort(all, {}, &NodeThread::id);
    std::set<std::pair<records::SchedulerKind, std::uint32_t>> taken;
    for (const auto& thread : all) {
        const auto key = scheduler_of_thread(thread.name);
        const auto found = threads.schedulers_.find(key);
        if (found != threads.schedulers_.end() && taken.insert(key).second) {
            threads.by_thread_.emplace(thread.id, &found->second);
        }
    }
    return threads;
}

const SchedulerPlace* NodeThreads::scheduler(pid_t thread) const {
    const auto found = by_thread_.find(thread);
    return found == by_thread_.end() ? nullptr : found->second;
}

}  // namespace beamdump::sampler
