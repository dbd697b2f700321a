#pragma once

#include "support/dump_builder.h"

#include <libdump/model/owner_id.h>

namespace beamdump::test {

/// Two normal schedulers, of which one runs process 1 and the other is offline, a dirty CPU
/// scheduler of which little is known, and a dirty I/O scheduler that sleeps, with their run
/// queues.
inline void add_schedulers(DumpBuilder& builder) {
    records::Schedulers page;
    const auto scheduler = [&](records::SchedulerKind kind, std::uint32_t number) {
        auto* added = page.add_scheduler();
        added->set_kind(kind);
        added->set_number(number);
        return added;
    };
    const auto flags = [](records::Scheduler* of, bool busy, bool sleeping, bool suspended) {
        of->set_busy(busy);
        of->set_sleeping(sleeping);
        of->set_suspended(suspended);
    };
    const auto queue = [&](records::SchedulerKind kind, std::uint32_t normal, std::uint32_t low) {
        auto* added = page.add_run_queue();
        added->set_kind(kind);
        added->set_length(normal + low);
        added->set_max_length(0);
        added->set_high_length(0);
        added->set_normal_length(normal);
        added->set_low_length(low);
        added->set_port_length(0);
        return added;
    };
    auto* first = scheduler(records::SCHEDULER_KIND_NORMAL, 1);
    flags(first, true, false, false);
    first->set_current_owner_id(format::owner_id_of(1, 0));
    first->set_current_port_number(5);
    flags(scheduler(records::SCHEDULER_KIND_NORMAL, 2), false, true, true);
    queue(records::SCHEDULER_KIND_NORMAL, 120, 3)->set_number(1);
    queue(records::SCHEDULER_KIND_NORMAL, 0, 0)->set_number(2);
    builder.trailer().add_schedulers_offset(builder.append(format::RecordKind::kScheduler, page));
    page.Clear();
    scheduler(records::SCHEDULER_KIND_DIRTY_CPU, 1);
    flags(scheduler(records::SCHEDULER_KIND_DIRTY_IO, 1), false, true, false);
    queue(records::SCHEDULER_KIND_DIRTY_CPU, 2, 0);
    queue(records::SCHEDULER_KIND_DIRTY_IO, 0, 0);
    builder.trailer().add_schedulers_offset(builder.append(format::RecordKind::kScheduler, page));
}

}  // namespace beamdump::test
