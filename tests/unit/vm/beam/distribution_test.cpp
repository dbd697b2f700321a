#include "fake_vm/each_layout.h"

#include <libvm/beam/activity/distribution.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kManySuspended = 150;

class Distribution : public OnStandardNode {
  protected:
    struct Found {
        std::vector<records::DistributionEntry> entries;
        std::vector<int> pages;
        DistributionReader::Left left;
    };
    Found read(std::size_t most = 100) {
        Found found;
        auto reader = DistributionReader::open(fresh()).value();
        found.left = reader
                         .read(most,
                               [&](records::DistributionEntries& page) -> Result<void> {
                                   found.pages.push_back(page.entry_size());
                                   found.entries.insert(found.entries.end(), page.entry().begin(),
                                                        page.entry().end());
                                   return {};
                               })
                         .value();
        return found;
    }
    FakeStruct connected(std::string_view name) {
        auto entry = node.vm.add_other_node(name);
        entry.set("state", node.vm.constant("dist_state_connected"))
            .set("cid", node.vm.add_port(5, "tcp_inet", "tcp_inet").get("common.id"))
            .set("creation", 9)
            .set("connection_id", 4)
            .set("dflags", node.vm.constant("dist_flag_published"))
            .set("in", 10)
            .set("out", 20)
            .set(queue(), 1000);
        return entry;
    }
    std::string queue() {
        return layout.field("DistEntry", "total_qsize") ? "total_qsize" : "qsize";
    }
    FakeStruct member(Address address) { return node.vm.at("ErtsProcList", address); }
};

TEST_P(Distribution, SaysWhatAConnectionIs) {
    auto entry = connected("far@there");
    const auto all = process_ring({node.worker.pid(), node.auth.pid()});
    entry.set("qflgs", node.vm.constant("dist_queue_busy")).set("suspended", all[0]);
    const auto found = read();
    EXPECT_EQ(found.left.unreadable + found.left.suspended, 0U) << found.left.why;
    ASSERT_EQ(found.entries.size(), 1U);
    const auto& read = found.entries[0];
    EXPECT_EQ(read.name_atom(), node.vm.atom_index("far@there"));
    EXPECT_EQ(read.struct_address(), entry.address());
    EXPECT_EQ(read.state(), records::DISTRIBUTION_STATE_CONNECTED);
    EXPECT_EQ(read.creation(), 9U);
    EXPECT_EQ(read.connection_id(), 4U);
    EXPECT_TRUE(read.visible() && read.busy());
    EXPECT_EQ(read.packets_in(), 10U);
    EXPECT_EQ(read.packets_out(), 20U);
    EXPECT_TRUE(read.has_controller_port_number() && !read.has_controller_owner_id());
    EXPECT_EQ(read.queued_bytes(), 1000U);
    EXPECT_EQ(read.suspended(), 2U);
    EXPECT_THAT(read.suspended_owner_id(), ElementsAre(owner(node.worker), owner(node.auth)));
}

TEST_P(Distribution, AHiddenNodeAndAProcessThatControls) {
    connected("far@there").set("dflags", 0).set("cid", node.worker.pid());
    const auto found = read();
    ASSERT_EQ(found.entries.size(), 1U);
    EXPECT_TRUE(found.entries[0].has_visible() && !found.entries[0].visible());
    EXPECT_EQ(found.entries[0].controller_owner_id(), owner(node.worker));
    EXPECT_FALSE(found.entries[0].has_controller_port_number());
    EXPECT_TRUE(found.entries[0].has_busy() && !found.entries[0].busy());
}

TEST_P(Distribution, FactsOfAConnectionAreAbsentWithoutOne) {
    connected("far@there")
        .set("state", node.vm.constant("dist_state_idle"))
        .set("cid", node.vm.constant("nil"));
    node.vm.add_other_node("pending@there").set("state", node.vm.constant("dist_state_pending"));
    const auto found = read();
    ASSERT_EQ(found.entries.size(), 2U);
    for (const auto& entry : found.entries) {
        EXPECT_FALSE(entry.has_creation() || entry.has_connection_id() || entry.has_visible() ||
                     entry.has_packets_in() || entry.has_packets_out() ||
                     entry.has_controller_port_number() || entry.has_controller_owner_id());
        EXPECT_EQ(entry.state(), entry.name_atom() == node.vm.atom_index("far@there")
                                     ? records::DISTRIBUTION_STATE_IDLE
                                     : records::DISTRIBUTION_STATE_PENDING);
        EXPECT_TRUE(entry.has_suspended() && entry.suspended() == 0);
    }
}

TEST_P(Distribution, ComesInPagesAndThereIsAlwaysOne) {
    EXPECT_THAT(read().pages, ElementsAre(0));
    for (const auto* name : {"a@there", "b@there", "c@there", "d@there", "e@there"}) {
        node.vm.add_other_node(name);
    }
    EXPECT_THAT(read(2).pages, ElementsAre(2, 2, 1));
}

TEST_P(Distribution, TheFirstOfManySuspendedProcessesAreNamed) {
    const auto all = process_ring(std::vector<std::uint64_t>(kManySuspended, node.worker.pid()));
    connected("far@there").set("suspended", all[0]);
    const auto found = read();
    ASSERT_EQ(found.entries.size(), 1U);
    EXPECT_EQ(found.entries[0].suspended(), kManySuspended);
    EXPECT_EQ(found.entries[0].suspended_owner_id_size(), 100);
}

TEST_P(Distribution, AListThatIsNoneIsAbsent) {
    const auto all = process_ring({node.worker.pid(), node.auth.pid(), node.init.pid()});
    connected("far@there").set("suspended", all[0]);
    const auto lost = [&] {
        const auto found = read();
        EXPECT_EQ(found.entries.size(), 1U);
        EXPECT_FALSE(found.entries[0].has_suspended());
        EXPECT_THAT(found.entries[0].suspended_owner_id(), IsEmpty());
        EXPECT_EQ(found.left.suspended, 1U);
        return found.left.why;
    };
    member(all[1]).set("pid", node.vm.atom("ok"));
    EXPECT_THAT(lost(), HasSubstr("expected member 2"));
    member(all[1]).set("pid", node.auth.pid()).set("prev", all[2]);
    EXPECT_THAT(lost(), HasSubstr("expected member 2"));
    member(all[1]).set("prev", all[0]);
    member(all[0]).set("prev", all[1]);
    EXPECT_THAT(lost(), HasSubstr("as the last of 3 members"));
    // Around without the first.
    member(all[2]).set("next", all[1]);
    EXPECT_THAT(lost(), HasSubstr("expected member 4"));
    member(all[2]).set("next", kNowhere);
    EXPECT_NE(lost(), "");
}

TEST_P(Distribution, ANodeThatIsNoneIsCounted) {
    auto entry = connected("far@there");
    entry.set("state", 77);
    auto found = read();
    EXPECT_THAT(found.entries, IsEmpty());
    EXPECT_EQ(found.left.unreadable, 1U);
    EXPECT_THAT(found.left.why, HasSubstr("an atom and a state"));
    entry.set("state", node.vm.constant("dist_state_connected")).set("cid", node.vm.small(4));
    found = read();
    EXPECT_EQ(found.left.unreadable, 1U);
    EXPECT_THAT(found.left.why, HasSubstr("a pid or a port"));
}

TEST_P(Distribution, NeedsItsTable) {
    auto tables = vm->tables();
    EXPECT_EQ(tables.other.distribution, node.vm.globals().distribution);
    tables.other.distribution.reset();
    vm->know(vm->facts(), tables, {});
    EXPECT_EQ(DistributionReader::open(*vm).error().code, ErrorCode::kNotFound);
}

TEST_P(Distribution, IsFoundInAStrippedExecutable) {
    EXPECT_EQ(node.vm.located(FakeVm::Symbols::kNone)->tables().other.distribution,
              node.vm.globals().distribution);
}

BEAMDUMP_FOR_EACH_LAYOUT(Distribution);

}  // namespace
}  // namespace beamdump::beam
