#include "open_bytes.h"

#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

void add_entry(records::NodeEntries& entries, std::uint64_t address, std::uint32_t name_atom,
               std::uint32_t creation, bool is_self) {
    auto* entry = entries.add_entry();
    entry->set_address(address);
    entry->set_name_atom(name_atom);
    entry->set_creation(creation);
    entry->set_is_self(is_self);
}

// The VM prints identifiers of another creation of its own name on channel 0, as its own.
TEST(NodeTables, EveryCreationOfTheOwnNameIsSelf) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    records::NodeEntries entries;
    add_entry(entries, 0x1000, 7, 1, false);
    add_entry(entries, 0x2000, 2, 5, false);
    add_entry(entries, 0x3000, 2, 9, true);
    builder.trailer().add_node_entries_offset(
        expect_value(builder.writer().append(format::RecordKind::kNodeEntries, entries)));
    OpenedBytes opened(builder.finish());
    NodeTables& tables = opened.dump().tables();
    EXPECT_FALSE(tables.node_at(0x1000).value().is_self);
    EXPECT_TRUE(tables.node_at(0x2000).value().is_self);
    EXPECT_EQ(tables.node_at(0x2000).value().creation, 5U);
    EXPECT_TRUE(tables.node_at(0x3000).value().is_self);
    EXPECT_FALSE(tables.node_at(0x4000));
}

}  // namespace
}  // namespace beamdump::test
