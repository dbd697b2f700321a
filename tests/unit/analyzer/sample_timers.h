#pragma once

#include "support/dump_builder.h"

#include <libdump/model/owner_id.h>

namespace beamdump::test {

/// As many as fit into a small frame.
inline constexpr int kTimersOfAPage = 100;

/// A message timer for process 1 and `orphaned` for the name of atom `nobody`, a receive of process
/// 2, a port's timer, and one of which nothing is known; the wheels of two schedulers, of which one
/// was read.
inline void add_timers(DumpBuilder& builder, std::uint32_t nobody, int orphaned = 1) {
    records::Timers page;
    const auto timer = [&](records::TimerKind kind, std::int64_t timeout) {
        auto* added = page.add_timer();
        added->set_kind(kind);
        added->set_scheduler(1);
        added->set_high_level(timeout > 1'000'000);
        added->set_timeout_position(timeout);
        return added;
    };
    auto* message = timer(records::TIMER_KIND_MESSAGE, 6'000);
    message->set_receiver_owner_id(format::owner_id_of(1, 0));
    message->set_message_words(12);
    for (const std::uint32_t number : {3U, 2U, 1U}) {
        message->add_reference_number(number);
    }
    auto* far = timer(records::TIMER_KIND_RECEIVE, 4'000'001'000);
    far->set_receiver_owner_id(format::owner_id_of(2, 0));
    timer(records::TIMER_KIND_PORT, -5)->set_port_number(5);
    page.add_timer();
    auto& wheel = *page.add_wheel();
    wheel.set_scheduler(1);
    wheel.set_position(1'000);
    wheel.set_counted(5);
    wheel.set_wheel_timers(4);
    page.add_wheel()->set_scheduler(2);
    builder.trailer().add_timers_offset(builder.append(format::RecordKind::kTimers, page));
    page.Clear();
    const auto append = [&] {
        builder.trailer().add_timers_offset(builder.append(format::RecordKind::kTimers, page));
        page.Clear();
    };
    for (int at = 0; at < orphaned; ++at) {
        auto* lost = timer(records::TIMER_KIND_MESSAGE, 2'000);
        lost->set_receiver_name_atom(nobody);
        lost->set_message_words(0);
        if (page.timer_size() == kTimersOfAPage) {
            append();
        }
    }
    append();
}

}  // namespace beamdump::test
