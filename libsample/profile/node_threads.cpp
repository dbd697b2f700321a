#include <libdump/base/return_if_error.h>
#include <libsample/profile/node_threads.h>
#include <libvm/beam/activity/schedulers.h>

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
    ASSIGN_OR_RETURN(const auto all, threads_of_schedulers(node.vm().target().pid()));
    for (const auto& [key, thread] : all) {
        const auto found = threads.schedulers_.find(key);
        if (found != threads.schedulers_.end()) {
            threads.by_thread_.emplace(thread, &found->second);
        }
    }
    return threads;
}

const SchedulerPlace* NodeThreads::scheduler(pid_t thread) const {
    const auto found = by_thread_.find(thread);
    return found == by_thread_.end() ? nullptr : found->second;
}

}  // namespace beamdump::sampler
