#pragma once

#include "sample_dump.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump::test {

/// Three persistent terms: alpha => [0, 1, 2] in a record of its own with its words, one whose
/// words are not here, and in another record one that is too large.
inline void add_persistent_terms(SampleDump& dump) {
    constexpr std::uint64_t kPlace = 0x70000;
    constexpr std::uint64_t kListPlace = kPlace + 24;
    constexpr std::uint64_t kWordsOfAll = 9;
    records::PackedRegions pack;
    auto& words = *pack.add_region();
    words.set_kind(static_cast<std::uint32_t>(format::RegionKind::kPersistentTerm));
    words.set_address(kPlace);
    words.set_total_words(kWordsOfAll);
    constexpr std::uint64_t kPairHeader = 0x80;
    words.add_words(kPairHeader);
    words.add_words(std::uint64_t{kAlphaAtom} << 6U | 0xbU);
    words.add_words(kListPlace | 1U);
    for (const auto word : list_words(kListPlace, 6)) {
        words.add_words(word);
    }
    records::PersistentTerms page;
    page.set_first_index(0);
    auto& ref = *page.mutable_directory()->add_packed_regions();
    ref.set_offset(dump.builder().append(format::RecordKind::kPackedRegions, pack));
    ref.set_count(1);
    ref.set_lowest_address(kPlace);
    ref.set_highest_address(kPlace + kWordsOfAll * 8);
    page.set_binaries_before_offset(ref.offset());
    auto& whole = *page.add_term();
    whole.set_address(kPlace);
    whole.set_words(kWordsOfAll);
    auto& lost = *page.add_term();
    lost.set_address(0x71000);
    lost.set_words(4);
    auto& trailer = dump.builder().trailer();
    trailer.add_persistent_terms_offset(
        dump.builder().append(format::RecordKind::kPersistentTerms, page));
    page.Clear();
    page.set_first_index(2);
    auto& large = *page.add_term();
    large.set_address(0x72000);
    large.set_words(2'000'000);
    large.set_left_out(true);
    page.set_last(true);
    page.set_counted(4);
    page.set_table_bytes(160);
    page.set_changed(1);
    trailer.add_persistent_terms_offset(
        dump.builder().append(format::RecordKind::kPersistentTerms, page));
}

/// Where the rows of samples are.
inline constexpr std::uint64_t kEtsRow = 0x700000;

/// A record of one row of a table.
struct EtsRowAt {
    std::uint64_t address = kEtsRow;
    std::optional<std::uint64_t> first_row = {};  ///< rows of the table in the records before it
    bool last = true;
    bool in_trailer = true;
};

/// Writes it; its offset.
inline std::uint64_t add_ets_row(DumpBuilder& builder, std::uint64_t table_index,
                                 const std::vector<std::uint64_t>& words,
                                 const EtsRowAt& row = {}) {
    records::PackedRegions packed;
    auto& region = *packed.add_region();
    region.set_kind(static_cast<std::uint32_t>(format::RegionKind::kEtsRow));
    region.set_address(row.address);
    region.set_total_words(words.size());
    region.mutable_words()->Assign(words.begin(), words.end());
    records::EtsRows rows;
    rows.set_table_index(table_index);
    if (row.first_row) {
        rows.set_first_row(*row.first_row);
    }
    rows.set_rows(1);
    rows.set_last(row.last);
    auto& pack = *rows.mutable_directory()->add_packed_regions();
    pack.set_offset(builder.append(format::RecordKind::kPackedRegions, packed));
    pack.set_count(1);
    pack.set_lowest_address(row.address);
    pack.set_highest_address(row.address + words.size() * 8);
    const auto offset = builder.append(format::RecordKind::kEtsRows, rows);
    if (row.in_trailer) {
        builder.trailer().add_ets_rows_offset(offset);
    }
    return offset;
}

/// The sample's node with persistent terms and three ETS tables: one of which all is known, one of
/// which nothing is but where it stands, and a named one.
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
    // One row of the named table, {loop,[<0.77.0>]}, and one of the compressed one.
    add_ets_row(dump.builder(), 0, {tuple_header(2), atom_word(kLoopAtom), 0});
    add_ets_row(
        dump.builder(), 2,
        {tuple_header(2), atom_word(kLoopAtom), list_word(kEtsRow + 24), pid_word(77), kNil});
    add_persistent_terms(dump);
    return dump.finish();
}

}  // namespace beamdump::test
