#pragma once

#include "sample_process.h"
#include "support/dump_builder.h"

#include <libdump/model/owner_id.h>

namespace beamdump::test {

/// What differs between connections.
struct SampleConnection {
    bool busy = true;
    std::uint64_t suspended = 2;
};

/// A connected node with a busy connection, whose name is that atom; one that is being connected,
/// of which little is known; and one whose connection is being closed by process 2.
inline void add_nodes(DumpBuilder& builder, std::uint32_t connected, SampleConnection how = {}) {
    records::DistributionEntries page;
    auto& first = *page.add_entry();
    first.set_name_atom(connected);
    first.set_state(records::DISTRIBUTION_STATE_CONNECTED);
    first.set_creation(9);
    first.set_connection_id(4);
    first.set_visible(true);
    first.set_packets_in(1'000);
    first.set_packets_out(20'000);
    first.set_controller_port_number(5);
    first.set_queued_bytes(1'100'000);
    first.set_busy(how.busy);
    first.set_suspended(how.suspended);
    for (std::uint64_t number = 1; number <= how.suspended; ++number) {
        first.add_suspended_owner_id(format::owner_id_of(number, 0));
    }
    builder.trailer().add_distribution_offset(
        builder.append(format::RecordKind::kDistributionEntries, page));
    page.Clear();
    auto& pending = *page.add_entry();
    pending.set_name_atom(kLoopAtom);
    pending.set_state(records::DISTRIBUTION_STATE_PENDING);
    auto& exiting = *page.add_entry();
    exiting.set_name_atom(kAlphaAtom);
    exiting.set_state(records::DISTRIBUTION_STATE_EXITING);
    exiting.set_visible(false);
    exiting.set_controller_owner_id(format::owner_id_of(2, 0));
    exiting.set_queued_bytes(0);
    exiting.set_busy(false);
    exiting.set_suspended(0);
    builder.trailer().add_distribution_offset(
        builder.append(format::RecordKind::kDistributionEntries, page));
}

}  // namespace beamdump::test
