#include "threads/lock_names.h"

#include <libdump/base/return_if_error.h>
#include <libdump/format/owner_id.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/ets/ets_reader.h>
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

/// Whether an event is in the circle of those that wait for a lock, each of which begins with the
/// address of the next one.
bool LockNames::waits_in(Address first, Address event) {
    constexpr std::size_t kMostWaiters = 4096;
    auto at = first;
    for (std::size_t count = 0; at != 0 && count < kMostWaiters; ++count) {
        if (at == event) {
            return true;
        }
        at = node_->vm().bulk().word(at).value_or(0);
        if (at == first) {
            break;
        }
    }
    return false;
}

Result<std::optional<std::string>> LockNames::table_of(Address event) {
    // The first that waits (ethr_mutex_base_, ethr_mutex.h, OTP 25 and 27). Where it is elsewhere,
    // no circle has the event.
    constexpr Address kFirstWaiter = 48;
    beam::LayoutNames layout(node_->vm().layout());
    const auto lock = layout.field(beam::runtime::DbTableCommon::rwlock);
    auto reader = beam::EtsReader::open(node_->vm(), std::nullopt);
    if (!reader || !layout.outcome()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto list, reader->read([] { return true; }));
    for (const auto& table : list.tables) {
        const auto& facts = table.facts;
        const auto first =
            node_->vm().bulk().word(facts.struct_address() + lock.offset + kFirstWaiter);
        if (!first || !waits_in(*first, event)) {
            continue;
        }
        auto name = node_->atom(facts.name_atom()).value_or("?");
        return fmt::format("{}, owner {}", name, pid_text(facts.owner_id()));
    }
    return std::nullopt;
}

std::optional<std::string> LockNames::at(Address address) {
    const auto known = std::ranges::find_if(
        named_, [address](const Named& one) { return one.range.contains(address); });
    return known == named_.end() ? stacks_->variable_at(address) : std::optional(known->name);
}

}  // namespace beamdump::sampler
