#include "fake_vm/each_layout.h"
#include "fake_vm/fake_ets.h"

#include <libvm/beam/ets/ets_quiet.h>
#include <libvm/beam/ets/ets_walk.h>

#include <gmock/gmock.h>

#include <cstring>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kWritten = 0x80000000;

class EtsWalks : public OnStandardNode {
  protected:
    FakeStruct hash_table() {
        auto table = add_ets_table(node.vm, node.worker, "rows", {"ets_set", "ets_public"});
        make_hash(node.vm, table);
        status = node.vm.constant("ets_set");
        return table;
    }
    FakeStruct tree_table() {
        status = node.vm.constant("ets_ordered_set");
        return add_ets_table(node.vm, node.worker, "rows", {"ets_ordered_set", "ets_public"});
    }
    FakeStruct row(const std::string& structure, std::int64_t key) {
        return make_ets_row(node.vm, structure, node.vm.small(key), node.vm.small(key * 10));
    }
    /// The keys of the rows that are read.
    std::vector<std::int64_t> walk(const FakeStruct& table, bool moving) {
        std::vector<std::int64_t> keys;
        EtsWalk::Request request;
        request.table = table.address();
        request.status = status;
        request.most_rows = 100;
        request.how.moving = moving;
        request.how.table_lock = quiet != nullptr ? 0 : table.at("rwlock");
        request.how.quiet = quiet;
        auto walked = EtsWalk::open(fresh()).value().walk(
            request,
            [&](std::span<const EtsRow> rows, const std::function<Result<bool>()>& same) {
                for (const auto& one : rows) {
                    std::uint64_t key = 0;
                    std::memcpy(&key, one.words.data() + 8, sizeof(key));
                    keys.push_back(static_cast<std::int64_t>(key) >> 4U);
                }
                return same();
            },
            [] { return Result<bool>(true); });
        counts = walked.value();
        return keys;
    }
    /// The same whether the node runs or not.
    std::vector<std::int64_t> walk(const FakeStruct& table) {
        auto moving = walk(table, true);
        EXPECT_EQ(walk(table, false), moving);
        return moving;
    }
    [[nodiscard]] std::uint64_t left_out() const {
        return counts.locked + counts.changed + counts.broken;
    }

    std::uint64_t status = 0;
    EtsWalk::Counts counts;
    const EtsQuiet* quiet = nullptr;  ///< the node has one scheduler
};

TEST_P(EtsWalks, RowsOfAHashTable) {
    const auto table = hash_table();
    EXPECT_THAT(walk(table), IsEmpty());
    add_to_slot(node.vm, table, 7, row("DbHashRow", 1));
    add_to_slot(node.vm, table, 7, row("DbHashRow", 2));
    add_to_slot(node.vm, table, 255, row("DbHashRow", 3));
    // Deleted while the table is fixed: linked, but no row.
    auto deleted = row("DbHashRow", 4);
    add_to_slot(node.vm, table, 9, deleted);
    const auto mark = deleted.has("pseudo_deleted") ? (std::uint64_t{1} << 32U) | 9U
                                                    : (std::uint64_t{1} << 63U) | 9U;
    node.vm.memory.put(deleted.at("next") + 8, mark);
    EXPECT_THAT(walk(table), ElementsAre(2, 1, 3));
    EXPECT_EQ(counts.rows, 3U);
    EXPECT_EQ(left_out(), 0U);
    EXPECT_FALSE(counts.resized);
}

TEST_P(EtsWalks, ALongChainIsReadInParts) {
    const auto table = hash_table();
    for (std::int64_t key = 1; key <= 90; ++key) {
        add_to_slot(node.vm, table, 3, row("DbHashRow", key));
    }
    EXPECT_EQ(walk(table).size(), 90U);
    EXPECT_EQ(left_out(), 0U);
}

TEST_P(EtsWalks, LeaveOutABucketThatAWriterHolds) {
    auto table = hash_table();
    add_to_slot(node.vm, table, 7, row("DbHashRow", 1));
    add_to_slot(node.vm, table, 8, row("DbHashRow", 2));
    node.vm.memory.put(table.at("rwlock"), kWritten);
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(counts.locked, 2U);
    node.vm.memory.put(table.at("rwlock"), std::uint32_t{0x10000000});
    // One bucket's lock.
    const bool counted = node.vm.has("DbHashLockSlot");
    const auto number = counted ? 8 : node.vm.constant("ets_hash_locks");
    const auto bytes =
        counted ? node.vm.bytes("DbHashLockSlot") : node.vm.bytes("DbHashLocks") / number;
    const auto locks = node.vm.heap.place(number * bytes, 64);
    node.vm.at("DbHash", table.address()).set("locks", locks).set_if_any("nlocks", number);
    node.vm.memory.put(
        node.vm.at(counted ? "DbHashLockSlot" : "DbHashLock", locks + 7 * bytes).at("lck"),
        kWritten);
    EXPECT_THAT(walk(table), ElementsAre(2));
    EXPECT_EQ(counts.locked, 1U);
}

TEST_P(EtsWalks, ChainsThatLieAreLeftOut) {
    const auto table = hash_table();
    auto first = row("DbHashRow", 1);
    add_to_slot(node.vm, table, 7, first);
    add_to_slot(node.vm, table, 8, row("DbHashRow", 2));
    first.set("next", first.address());
    EXPECT_THAT(walk(table), ElementsAre(2));
    EXPECT_GE(left_out(), 1U);
    first.set("next", kNowhere);
    EXPECT_THAT(walk(table), ElementsAre(2));
    EXPECT_GE(left_out(), 1U);
    // A hash value of another slot.
    first.set("next", 0);
    node.vm.memory.put(first.at("next") + 8, std::uint64_t{6});
    EXPECT_THAT(walk(table), ElementsAre(2));
    node.vm.memory.put(first.at("next") + 8, std::uint64_t{7});
    EXPECT_THAT(walk(table), UnorderedElementsAre(1, 2));
}

TEST_P(EtsWalks, SizesThatLieAreLeftOut) {
    const auto table = hash_table();
    auto first = row("DbHashRow", 1);
    add_to_slot(node.vm, table, 7, first);
    auto term = node.vm.at("DbRow", first.at("dbterm"));
    for (const std::uint64_t words :
         {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}, std::uint64_t{1} << 40U}) {
        term.set("size", words);
        EXPECT_THAT(walk(table), IsEmpty()) << words;
        EXPECT_EQ(left_out(), 1U);
    }
    term.set("size", 3);
    node.vm.memory.put(term.at("tpl"), node.vm.small(1));
    EXPECT_THAT(walk(table), IsEmpty());
}

TEST_P(EtsWalks, TablesThatAreNoneAreLeftOut) {
    auto table = hash_table();
    auto hash = node.vm.at("DbHash", table.address());
    hash.set("nactive", 300);
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(counts.broken, 1U);
    hash.set("nactive", 256).set("segtab", kNowhere);
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(counts.broken, 1U);
}

TEST_P(EtsWalks, RowsOfATree) {
    auto table = tree_table();
    auto top = row("DbTreeRow", 2);
    auto left = row("DbTreeRow", 1);
    auto right = row("DbTreeRow", 3);
    auto tree = node.vm.at("DbTree", table.address());
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(left_out(), 0U);
    tree.set("root", top.address());
    top.set("left", left.address()).set("right", right.address());
    EXPECT_THAT(walk(table), ElementsAre(2, 1, 3));
    EXPECT_EQ(left_out(), 0U);
    // What leads nowhere, and what leads back.
    left.set("left", kNowhere);
    EXPECT_THAT(walk(table), ElementsAre(2, 1, 3));
    EXPECT_EQ(counts.broken, 1U);
    left.set("left", top.address());
    EXPECT_LE(walk(table, true).size(), 110U);
    EXPECT_GE(counts.broken, 1U);
    node.vm.memory.put(table.at("rwlock"), kWritten);
    left.set("left", 0);
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(counts.locked, 3U);
}

TEST_P(EtsWalks, ATreeThatChangesWhileAGroupIsReadIsLeftOut) {
    const auto table = tree_table();
    auto top = row("DbTreeRow", 3);
    auto left = row("DbTreeRow", 1);
    auto below = row("DbTreeRow", 2);
    auto right = row("DbTreeRow", 4);
    node.vm.at("DbTree", table.address()).set("root", top.address());
    top.set("left", left.address()).set("right", right.address());
    left.set("right", below.address());
    EXPECT_THAT(walk(table, true), ElementsAre(3, 1, 2, 4));
    // After the row 1 and what leads to it were read, it is no longer there.
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.begin == right.address()) {
            top.set("left", below.address());
        }
    });
    EXPECT_THAT(walk(table, true), IsEmpty());
    EXPECT_EQ(counts.changed, 4U);
}

/// A public table of a node with one scheduler.
class EtsOfOneScheduler : public EtsWalks {
  protected:
    EtsOfOneScheduler() {
        add_to_slot(node.vm, table, 7, only);
        node.vm.at("ErtsSchedulerSleep", scheduler.get("ssi"))
            .set("flags", node.vm.constant("scheduler_sleep_waiting"));
    }
    std::vector<std::int64_t> walk_public() {
        auto one = EtsOneScheduler::open(fresh()).value();
        const auto of_table = one.quiet(node.worker.pid(), true);
        quiet = &of_table;
        return walk(table, true);
    }
    FakeStruct table = hash_table();
    FakeStruct only = row("DbHashRow", 1);
    FakeStruct scheduler = node.vm.at("ErtsSchedulerData", vm->tables().schedulers);
    FakeStruct queue = node.vm.at("EtsRunQueue", scheduler.get("run_queue"));
};

TEST_P(EtsOfOneScheduler, IsReadWhileTheSchedulerWaits) {
    EXPECT_THAT(walk_public(), ElementsAre(1));
    EXPECT_EQ(left_out(), 0U);
}

TEST_P(EtsOfOneScheduler, IsLeftOutWhereItDoesNotWait) {
    node.vm.at("ErtsSchedulerSleep", scheduler.get("ssi")).set("flags", 0);
    EXPECT_THAT(walk_public(), IsEmpty());
    EXPECT_EQ(counts.locked, 1U);
}

TEST_P(EtsOfOneScheduler, IsLeftOutWhereAProcessRanMeanwhile) {
    // It waits again after that: only the count of switches tells.
    std::uint64_t switches = 7;
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (read.begin == only.address()) {
            queue.set("context_switches", ++switches);
        }
    });
    EXPECT_THAT(walk_public(), IsEmpty());
    EXPECT_EQ(counts.changed, 1U);
}

TEST_P(EtsWalks, RowsOfAContentionAdaptingTree) {
    auto table = add_ets_table(node.vm, node.worker, "rows", {"ets_ca_ordered_set", "ets_public"});
    status = node.vm.constant("ets_ca_ordered_set");
    auto route = node.vm.make("DbCATreeNode");
    auto base = node.vm.make("DbCATreeNode");
    auto other = node.vm.make("DbCATreeNode");
    node.vm.at("DbCATree", table.address()).set("root", route.address());
    route.set("route.is_valid", 1)
        .set("route.left", base.address())
        .set("route.right", other.address());
    base.set("is_base_node", 1)
        .set("base.is_valid", 1)
        .set("base.root", row("DbTreeRow", 1).address());
    other.set("is_base_node", 1)
        .set("base.is_valid", 1)
        .set("base.root", row("DbTreeRow", 2).address());
    EXPECT_THAT(walk(table), ElementsAre(1, 2));
    EXPECT_EQ(left_out(), 0U);
    node.vm.memory.put(base.at("base.lock"), kWritten);
    EXPECT_THAT(walk(table), ElementsAre(2));
    EXPECT_EQ(counts.locked, 1U);
    other.set("base.is_valid", 0);
    EXPECT_THAT(walk(table), IsEmpty());
    route.set("route.right", kNowhere);
    EXPECT_THAT(walk(table), IsEmpty());
    EXPECT_EQ(counts.broken, 1U);
}

BEAMDUMP_FOR_EACH_LAYOUT(EtsWalks);
BEAMDUMP_FOR_EACH_LAYOUT(EtsOfOneScheduler);

}  // namespace
}  // namespace beamdump::beam
