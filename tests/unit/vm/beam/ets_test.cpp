#include "fake_vm/each_layout.h"
#include "fake_vm/fake_ets.h"

#include <libvm/beam/ets/ets_reader.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool at_rest() {
    return false;
}

class Ets : public OnStandardNode {
  protected:
    EtsTableList read() {
        return EtsReader::open(fresh(), std::nullopt).value().read(at_rest).value();
    }
    std::string doubt() {
        const auto list = read();
        return list.doubts.size() == 1 ? list.doubts.front() : "";
    }
    FakeStruct add(std::string_view name, std::initializer_list<std::string_view> flags) {
        return add_ets_table(node.vm, node.worker, name, flags);
    }
    void add_three() {
        first = add("first", {"ets_set", "ets_public"});
        second = add("second", {"ets_bag", "ets_private"});
        third = add("third", {"ets_ordered_set", "ets_protected"});
    }
    std::vector<std::uint32_t> names(const EtsTableList& list) {
        std::vector<std::uint32_t> atoms;
        for (const auto& table : list.tables) {
            atoms.push_back(table.facts.name_atom());
        }
        return atoms;
    }

    FakeStruct first = node.vm.at("DbTableCommon", 0), second = first, third = first;
};

TEST_P(Ets, ANodeWithoutTablesHasNone) {
    const auto list = read();
    EXPECT_THAT(list.tables, IsEmpty());
    EXPECT_THAT(list.doubts, IsEmpty());
}

TEST_P(Ets, SaysWhatTheStructureSays) {
    // From OTP 25 on.
    const bool automatic = layout.constants().contains("ets_write_concurrency_auto");
    const std::string_view most =
        automatic ? "ets_write_concurrency_auto" : "ets_write_concurrency";
    auto table = add("accounts", {"ets_set", "ets_protected", "ets_named", "ets_read_concurrency",
                                  "ets_write_concurrency", most});
    table.set("keypos", 3)
        .set("compress", 1)
        .set("fix_count", 2)
        .set("heir", node.init.pid())
        .set("counters.u", 17);
    node.vm.memory.put(table.at("counters.u") + 8, std::uint64_t{4001});
    const auto list = read();
    ASSERT_EQ(list.tables.size(), 1U);
    EXPECT_THAT(list.doubts, IsEmpty());
    const auto& facts = list.tables[0].facts;
    EXPECT_EQ(facts.struct_address(), table.address());
    EXPECT_EQ(facts.name_atom(), node.vm.atom_index("accounts"));
    EXPECT_TRUE(facts.named());
    EXPECT_EQ(facts.type(), records::ETS_TYPE_SET);
    EXPECT_FALSE(facts.has_ca_tree());
    EXPECT_EQ(facts.protection(), records::ETS_PROTECTION_PROTECTED);
    EXPECT_EQ(facts.write_concurrency(), automatic ? records::ETS_WRITE_CONCURRENCY_AUTO
                                                   : records::ETS_WRITE_CONCURRENCY_TRUE);
    EXPECT_TRUE(facts.read_concurrency());
    EXPECT_TRUE(facts.compressed());
    EXPECT_TRUE(facts.fixed());
    EXPECT_FALSE(facts.decentralized_counters());
    EXPECT_EQ(facts.key_position(), 3U);
    EXPECT_EQ(facts.rows(), 17U);
    EXPECT_EQ(facts.bytes(), 4001U);
    EXPECT_EQ(facts.reference_size(), 3);
    EXPECT_EQ(facts.scheduler(), 1U);
    const auto pids = PidWords::of(*vm).value();
    EXPECT_EQ(facts.owner_id(), pids.owner_id(node.worker.pid()));
    EXPECT_EQ(facts.heir_id(), pids.owner_id(node.init.pid()));
    EXPECT_FALSE(facts.has_no_heir());
}

TEST_P(Ets, TypesProtectionsAndConcurrency) {
    add("a", {"ets_bag", "ets_private"});
    add("b", {"ets_duplicate_bag", "ets_public", "ets_write_concurrency"});
    add("c", {"ets_ordered_set", "ets_public"});
    add("d", {"ets_ca_ordered_set", "ets_public", "ets_write_concurrency"});
    const auto list = read();
    ASSERT_EQ(list.tables.size(), 4U);
    const auto type = [&](std::size_t index) { return list.tables[index].facts.type(); };
    EXPECT_EQ(type(0), records::ETS_TYPE_BAG);
    EXPECT_EQ(type(1), records::ETS_TYPE_DUPLICATE_BAG);
    EXPECT_EQ(type(2), records::ETS_TYPE_ORDERED_SET);
    EXPECT_EQ(type(3), records::ETS_TYPE_ORDERED_SET);
    EXPECT_FALSE(list.tables[2].facts.ca_tree());
    EXPECT_TRUE(list.tables[3].facts.ca_tree());
    EXPECT_EQ(list.tables[0].facts.protection(), records::ETS_PROTECTION_PRIVATE);
    EXPECT_EQ(list.tables[0].facts.write_concurrency(), records::ETS_WRITE_CONCURRENCY_FALSE);
    EXPECT_EQ(list.tables[1].facts.write_concurrency(), records::ETS_WRITE_CONCURRENCY_TRUE);
    EXPECT_TRUE(list.tables[0].facts.no_heir());
    EXPECT_FALSE(list.tables[0].facts.named());
}

TEST_P(Ets, DeletedTablesAreLeftOut) {
    add_three();
    second.set("status", second.get("status") | node.vm.constant("ets_deleted"));
    const auto list = read();
    EXPECT_THAT(names(list), ElementsAre(node.vm.atom_index("first"), node.vm.atom_index("third")));
    EXPECT_THAT(list.doubts, IsEmpty());
}

TEST_P(Ets, AListThatDoesNotCloseEnds) {
    add_three();
    third.set("all.next", second.address());
    EXPECT_THAT(doubt(), HasSubstr("does not lead back"));
    EXPECT_EQ(read().tables.size(), 3U);
    second.set("all.prev", third.address());
    EXPECT_THAT(doubt(), HasSubstr("does not lead back"));
    third.set("all.next", 0);
    second.set("all.prev", first.address());
    EXPECT_THAT(doubt(), HasSubstr("the list ends"));
    // A ring of two that the head leads into, with no fault in its links.
    third.set("all.next", first.address());
    first.set("all.prev", kNowhere);
    EXPECT_THAT(doubt(), HasSubstr("its ends do not meet"));
}

TEST_P(Ets, APointerToNowhereEndsTheList) {
    add_three();
    second.set("all.next", kNowhere);
    EXPECT_THAT(doubt(), HasSubstr("ETS tables of scheduler 1: one would be at"));
    EXPECT_EQ(read().tables.size(), 2U);
    ets_scheduler(node.vm).set("tables.clist", kNowhere);
    EXPECT_THAT(doubt(), HasSubstr("one would be at"));
    EXPECT_THAT(read().tables, IsEmpty());
}

TEST_P(Ets, CountsThatLieAreSaid) {
    add_three();
    ets_scheduler(node.vm).set("tables.count", 5);
    EXPECT_THAT(doubt(), HasSubstr("has 3 and counts 5"));
    EXPECT_EQ(read().tables.size(), 3U);
    // Fewer than there are: no more is read than a list in motion may have.
    ets_scheduler(node.vm).set("tables.count", 0);
    EXPECT_THAT(doubt(), HasSubstr("has 3 and counts 0"));
    for (int more = 0; more < 3; ++more) {
        add("more", {"ets_set", "ets_public"});
    }
    ets_scheduler(node.vm).set("tables.count", 0);
    EXPECT_THAT(doubt(), HasSubstr("does not close after the 0"));
}

TEST_P(Ets, AnEntryThatIsNoTableEndsTheList) {
    add_three();
    const auto status = second.get("status");
    second.set("status", 0);
    EXPECT_THAT(doubt(), HasSubstr("status 0x0"));
    second.set("status", status | node.vm.constant("ets_set"));
    EXPECT_THAT(doubt(), HasSubstr("there is no ETS table"));
    second.set("status", status).set("owner", node.vm.atom("first"));
    EXPECT_THAT(doubt(), HasSubstr("its owner would be"));
    second.set("owner", node.worker.pid()).set("the_name", node.vm.small(1));
    EXPECT_THAT(doubt(), HasSubstr("its name is no atom"));
    second.set("the_name", node.vm.atom("second")).set("btid", first.get("btid"));
    EXPECT_THAT(doubt(), HasSubstr("its identifier does not lead to it"));
    second.set("btid", kNowhere);
    EXPECT_THAT(doubt(), HasSubstr("its identifier does not lead to it"));
    EXPECT_EQ(read().tables.size(), 1U);
}

TEST_P(Ets, DecentralizedCountersAreSummedUp) {
    auto table = add("counted", {"ets_set", "ets_public", "ets_write_concurrency"});
    // One scheduler: two lines. A third is none of the table's.
    const auto minus = static_cast<std::uint64_t>(-3);
    auto counters = decentralize(node.vm, table, {{10, 900}, {minus, 100}, {1000, 1000}});
    auto facts = read().tables.at(0).facts;
    EXPECT_TRUE(facts.decentralized_counters());
    EXPECT_EQ(facts.rows(), 7U);
    EXPECT_EQ(facts.bytes(), 1000U);
    // While the node sums them up, and where they contradict themselves, they are unknown.
    counters.set("snapshot_status", 1);
    facts = read().tables.at(0).facts;
    EXPECT_FALSE(facts.has_rows());
    EXPECT_FALSE(facts.has_bytes());
    counters.set("snapshot_status", 0).set("block_start", kNowhere);
    EXPECT_FALSE(read().tables.at(0).facts.has_rows());
    table.set("counters.u", kNowhere);
    EXPECT_FALSE(read().tables.at(0).facts.has_rows());
    table.set("counters.is_decentralized", 0).set("counters.u", minus);
    EXPECT_FALSE(read().tables.at(0).facts.has_rows());
}

TEST_P(Ets, WithoutSchedulersThereIsNoReader) {
    auto tables = fresh().tables();
    tables.schedulers = 0;
    vm->know(vm->facts(), tables, vm->found());
    EXPECT_EQ(EtsReader::open(*vm, std::nullopt).error().code, ErrorCode::kNotFound);
}

BEAMDUMP_FOR_EACH_LAYOUT(Ets);

}  // namespace
}  // namespace beamdump::beam
