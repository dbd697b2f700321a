#pragma once

#include "support/dump_builder.h"

#include <libdump/model/owner_id.h>

#include <tuple>

namespace beamdump::test {

/// The emulator's state: process 1 holds the staging permission, for which 2 and a job of the VM
/// wait; somebody the code write permission; scheduler 1 was behind at 7 in both readings, two
/// seconds apart. Session of name atom 4 traces nothing. And two types of resources of module atom
/// 3: of one the destructor is known.
inline void add_emulator(DumpBuilder& builder) {
    constexpr std::uint32_t kModuleAtom = 3;
    constexpr std::int64_t kSecond = 1'000'000'000;
    records::Emulator emulator;
    auto& staging = *emulator.add_permission();
    staging.set_kind(records::PERMISSION_KIND_CODE_STAGING);
    staging.set_held(true);
    staging.set_holder_stored(true);
    staging.set_holder_owner_id(format::owner_id_of(1, 0));
    staging.add_waiter_owner_id(format::owner_id_of(2, 0));
    staging.set_waiters(2);
    staging.set_waiting_jobs(1);
    auto& code = *emulator.add_permission();
    code.set_kind(records::PERMISSION_KIND_CODE_WRITE);
    code.set_held(true);
    code.set_holder_stored(false);
    emulator.add_untold("types of threads: a reason");
    emulator.set_active_code_index(1);
    emulator.set_staging_code_index(2);
    emulator.set_literal_area_address(0x1000);
    auto& session = *emulator.add_trace_session();
    session.set_struct_address(0x2000);
    session.set_name_atom(4);
    session.mutable_tracer()->set_owner_id(format::owner_id_of(9, 0));
    emulator.set_trace_sessions_listed(true);
    const auto reading = [](std::int64_t at, std::uint64_t second) {
        records::ProgressReading progress;
        progress.set_monotonic_ns(at);
        progress.set_current(7);
        auto& first = *progress.add_thread();
        first.set_scheduler(1);
        first.set_confirmed(7);
        first.set_leader(true);
        first.set_stopped_at(1);
        auto& other = *progress.add_thread();
        other.set_scheduler(2);
        if (second != 0) {
            other.set_confirmed(second);
        }
        return progress;
    };
    *emulator.add_progress() = reading(kSecond, 8);
    builder.trailer().add_emulator_offset(builder.append(format::RecordKind::kEmulator, emulator));
    records::Emulator again;
    *again.add_progress() = reading(3 * kSecond, 0);
    builder.trailer().add_emulator_offset(builder.append(format::RecordKind::kEmulator, again));
    records::ResourceTypes types;
    for (const auto& [name, living, loaded] :
         {std::tuple{4U, 100'000U, true}, std::tuple{3U, 1U, false}}) {
        auto& type = *types.add_type();
        type.set_module_atom(kModuleAtom);
        type.set_name_atom(name);
        type.set_living(living);
        type.set_loaded(loaded);
    }
    types.mutable_type(0)->set_destructor_address(0x7f0000001234);
    types.mutable_type(0)->set_destructor_file("demo.so");
    types.mutable_type(0)->set_destructor_offset(0x1234);
    types.mutable_type(0)->set_destructor_symbol("free_loop");
    builder.trailer().add_resource_types_offset(
        builder.append(format::RecordKind::kResourceTypes, types));
}

}  // namespace beamdump::test
