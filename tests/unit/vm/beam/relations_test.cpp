#include "fake_vm/each_layout.h"
#include "fake_vm/fake_relations.h"

#include <libvm/beam/processes/relations.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kPage = 100;
constexpr std::uint64_t kMax = 1000;

class Relations : public OnStandardNode {
  protected:
    Relations() : process(node.vm, 8, node.code) {}

    /// What is walked of the process, and all pages of it as one.
    Result<RelationWalker::Walked> walk(std::size_t most = kPage, std::uint64_t limit = kMax) {
        const auto where = view(process);
        all.Clear();
        pages = 0;
        auto walker = RelationWalker::open(*vm).value();
        return walker.walk(where, most, limit, [&](records::Relations& page) {
            all.MergeFrom(page);
            ++pages;
            return Result<void>();
        });
    }

    FakeProcess process;
    records::Relations all;
    int pages = 0;
};

TEST_P(Relations, AProcessWithoutRelationsHasNone) {
    const auto walked = walk().value();
    EXPECT_EQ(walked.links + walked.monitors + walked.bytes, 0U);
    EXPECT_EQ(pages, 0);
}

TEST_P(Relations, LinksAreAllInTheTree) {
    for (std::uint32_t slot = 20; slot < 27; ++slot) {
        add_link(node.vm, process, node.vm.pid(slot));
    }
    auto remote = add_remote_link(node.vm, process, node.remote_node, 77);
    node.vm.at("ErtsELink", remote.address()).set("unlinking", 5);
    const auto walked = walk(3).value();
    EXPECT_EQ(walked.links, 8U);
    EXPECT_EQ(pages, 3);
    EXPECT_EQ(walked.bytes,
              7 * node.vm.bytes("ErtsMonLnkNode") + (node.vm.bytes("ErtsELink") + 24) / 2);
    std::set<std::uint64_t> others;
    int remotes = 0;
    for (const auto& link : all.link()) {
        if (link.kind() == records::LINK_KIND_REMOTE) {
            ++remotes;
            EXPECT_EQ(link.remote_owner_id(), 77U);
            EXPECT_EQ(link.remote_node_address(), node.remote_node);
            EXPECT_TRUE(link.unlinking());
            EXPECT_EQ(RelationWalker::remote_thing(link.other_word()) + 2, link.other_word());
            continue;
        }
        EXPECT_EQ(link.kind(), records::LINK_KIND_PROCESS);
        EXPECT_FALSE(link.unlinking());
        others.insert(link.other_word());
    }
    EXPECT_EQ(remotes, 1);
    EXPECT_EQ(others.size(), 7U);
    EXPECT_TRUE(others.contains(node.vm.pid(26)));
}

TEST_P(Relations, MonitorsHaveTheirReferenceAndTheirHalves) {
    const auto monitor = add_monitor(node.vm, process, node.worker);
    EXPECT_EQ(walk()->monitors, 1U);
    ASSERT_EQ(all.monitor_size(), 1);
    EXPECT_EQ(all.monitor(0).kind(), records::MONITOR_KIND_PROCESS);
    EXPECT_FALSE(all.monitor(0).is_target());
    EXPECT_EQ(all.monitor(0).other_word(), node.worker.pid());
    EXPECT_THAT(all.monitor(0).reference(), ElementsAre(101U, 102U, 103U));
    EXPECT_EQ(walk()->bytes, node.vm.bytes("ErtsMonitorDataHeap") / 2);
    // The other half, in the list of the one that is monitored.
    add_monitor(node.vm, node.worker, process, "by_name");
    add_monitor(node.vm, node.init, process);
    EXPECT_EQ(walk()->monitors, 3U);
    int targets = 0;
    int named = 0;
    for (const auto& one : all.monitor()) {
        targets += one.is_target() ? 1 : 0;
        named += one.has_name_atom() ? 1 : 0;
        EXPECT_TRUE(!one.has_name_atom() || one.name_atom() == node.vm.atom_index("by_name"));
        EXPECT_THAT(one.reference(), ElementsAre(101U, 102U, 103U));
    }
    EXPECT_EQ(targets, 2);
    EXPECT_EQ(named, 1);
    EXPECT_EQ(monitor.origin.get("other"), node.worker.pid());
}

TEST_P(Relations, OfOtherKindsSayWhatTheyAre) {
    add_suspension(node.vm, process, node.init.pid(), std::uint64_t{1} << 63U | 3);
    add_alias(node.vm, process);
    add_resource_monitor(node.vm, process, node.vm.add_magic_binary(0));
    const auto walked = walk().value();
    EXPECT_EQ(walked.monitors, 3U);
    EXPECT_EQ(walked.bytes, node.vm.bytes("ErtsMonitorSuspend") + node.vm.bytes("ErtsMonitorData") +
                                node.vm.bytes("ErtsMonitorDataHeap") / 2);
    for (const auto& monitor : all.monitor()) {
        switch (monitor.kind()) {
            case records::MONITOR_KIND_SUSPEND:
                EXPECT_EQ(monitor.suspend_count(), 3U);
                EXPECT_TRUE(monitor.suspend_active());
                break;
            case records::MONITOR_KIND_RESOURCE:
                EXPECT_TRUE(monitor.is_target());
                EXPECT_THAT(monitor.reference(), ElementsAre(11U, 22U, 33U));
                EXPECT_FALSE(monitor.has_other_word());
                break;
            default:
                EXPECT_EQ(monitor.kind(), records::MONITOR_KIND_ALIAS);
                EXPECT_THAT(monitor.reference(), ElementsAre(101U, 102U, 103U));
        }
    }
}

TEST_P(Relations, TreesThatDoNotEndAreImplausible) {
    auto root = add_link(node.vm, process, node.init.pid());
    auto below = add_link(node.vm, process, node.auth.pid());
    below.set("tree.left", root.address());
    EXPECT_THAT(walk().error().message, HasSubstr("does not end"));
    // Deeper than any tree that is balanced: each node twice the parent of the next.
    below.set("tree.right", root.address());
    EXPECT_EQ(walk().error().code, ErrorCode::kImplausible);
    below.set("tree.left", 0).set("tree.right", kNowhere);
    EXPECT_EQ(walk().error().code, ErrorCode::kUnmapped);
    below.set("tree.right", 0);
    EXPECT_TRUE(walk(kPage, 2));
    EXPECT_FALSE(walk(kPage, 1));
}

TEST_P(Relations, ListsThatDoNotEndAreImplausible) {
    const auto first = add_monitor(node.vm, node.init, process);
    auto second = add_monitor(node.vm, node.worker, process);
    EXPECT_EQ(walk()->monitors, 2U);
    second.target.set("list.next", second.target.address());
    EXPECT_THAT(walk().error().message, HasSubstr("does not end"));
    second.target.set("list.next", kNowhere);
    EXPECT_EQ(walk().error().code, ErrorCode::kUnmapped);
    second.target.set("list.next", 0);
    EXPECT_EQ(walk()->monitors, 2U);
    EXPECT_NE(first.data, second.data);
}

TEST_P(Relations, ReferencesToNowhereAreErrors) {
    auto monitor = add_monitor(node.vm, process, node.worker);
    auto data = node.vm.at("ErtsMonitorData", monitor.data);
    data.set("ref", kNowhere | kBoxed);
    EXPECT_THAT(walk().error().message, HasSubstr("a monitor's reference"));
    // No reference at all is one that is not said.
    data.set("ref", node.vm.constant("nil"));
    ASSERT_TRUE(walk());
    EXPECT_EQ(all.monitor(0).reference_size(), 0);
    monitor.origin.set("other", kNowhere | kBoxed);
    EXPECT_THAT(walk().error().message, HasSubstr("a remote pid"));
    monitor.origin.set("other", node.vm.heap.place_words({node.vm.header(4, 0), 0, 0, 0}) | kBoxed);
    ASSERT_TRUE(walk());
    EXPECT_FALSE(all.monitor(0).has_remote_owner_id());
}

TEST_P(Relations, ExternalReferencesGiveTheirNumbers) {
    auto monitor = add_monitor(node.vm, process, node.worker);
    auto thing = node.vm.make("ExternalThing", 32);
    thing.set("header", node.vm.header(5, node.vm.constant("external_ref_subtag")))
        .set("node", node.remote_node);
    node.vm.memory.put(thing.at("data"), std::array<std::uint32_t, 6>{4, 1, 2, 3, 4, 5});
    node.vm.at("ErtsMonitorData", monitor.data).set("ref", thing.address() | kBoxed);
    ASSERT_TRUE(walk());
    EXPECT_THAT(all.monitor(0).reference(), ElementsAre(1U, 2U, 3U, 4U));
    node.vm.memory.put(thing.at("data"), 1000U);
    ASSERT_TRUE(walk());
    EXPECT_EQ(all.monitor(0).reference_size(), 5);
}

BEAMDUMP_FOR_EACH_LAYOUT(Relations);

}  // namespace
}  // namespace beamdump::beam
