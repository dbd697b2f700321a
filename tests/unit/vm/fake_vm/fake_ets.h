#pragma once

#include "fake_vm/fake_process.h"

#include <initializer_list>
#include <string_view>

namespace beamdump::test {

/// An ETS table in the list of the fake VM's only scheduler, without rows. `flags`: the layout's
/// names of its type, protection and options ("ets_set", "ets_public").
FakeStruct add_ets_table(FakeVm& vm, const FakeProcess& owner, std::string_view name,
                         std::initializer_list<std::string_view> flags);

/// The scheduler, as far as it has tables (EtsScheduler).
FakeStruct ets_scheduler(FakeVm& vm);

/// Makes a table's counters decentralized: the sum of these lines.
FakeStruct decentralize(FakeVm& vm, FakeStruct table,
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& lines);

/// A row {Key, Value}; its structure is DbHashRow or DbTreeRow.
FakeStruct make_ets_row(FakeVm& vm, const std::string& structure, std::uint64_t key,
                        std::uint64_t value);

/// Makes a table one of 256 slots, and puts a row in front of a slot's chain.
void make_hash(FakeVm& vm, const FakeStruct& table);
void add_to_slot(FakeVm& vm, const FakeStruct& table, std::uint64_t slot, FakeStruct row);

}  // namespace beamdump::test
