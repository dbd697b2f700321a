#pragma once

#include "sample_dump.h"

namespace beamdump::test {

/// The sample's node with three ETS tables: one of which all is known, one of which nothing is but
/// where it stands, and a named one.
inline std::vector<std::byte> sample_dump_with_tables() {
    SampleDump dump;
    dump.add(alpha_process());
    records::EtsTables page;
    page.set_first_index(0);
    auto& full = *page.add_table();
    full.set_struct_address(0x7000);
    for (const std::uint32_t number : {3U, 2U, 1U}) {
        full.add_reference(number);
    }
    full.set_name_atom(kAlphaAtom);
    full.set_named(false);
    full.set_type(records::ETS_TYPE_ORDERED_SET);
    full.set_ca_tree(true);
    full.set_owner_id(format::owner_id_of(1, 0));
    full.set_heir_id(format::owner_id_of(4, 0));
    full.set_key_position(2);
    full.set_protection(records::ETS_PROTECTION_PUBLIC);
    full.set_rows(1200);
    full.set_bytes(20001);
    full.set_write_concurrency(records::ETS_WRITE_CONCURRENCY_AUTO);
    full.set_read_concurrency(true);
    full.set_decentralized_counters(true);
    full.set_compressed(true);
    full.set_fixed(true);
    page.add_table()->set_struct_address(0x8000);
    dump.builder().trailer().add_ets_tables_offset(
        dump.builder().append(format::RecordKind::kEtsTables, page));
    page.Clear();
    page.set_first_index(2);
    auto& named = *page.add_table();
    named.set_name_atom(kQuotedAtom);
    named.set_named(true);
    named.set_type(records::ETS_TYPE_SET);
    named.set_owner_id(format::owner_id_of(9, 0));
    named.set_no_heir(true);
    named.set_key_position(1);
    named.set_protection(records::ETS_PROTECTION_PRIVATE);
    named.set_rows(1201);
    named.set_bytes(800);
    named.set_write_concurrency(records::ETS_WRITE_CONCURRENCY_FALSE);
    named.set_read_concurrency(false);
    named.set_compressed(false);
    dump.builder().trailer().add_ets_tables_offset(
        dump.builder().append(format::RecordKind::kEtsTables, page));
    return dump.finish();
}

}  // namespace beamdump::test
