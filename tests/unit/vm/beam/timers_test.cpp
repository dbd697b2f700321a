#include "fake_vm/each_layout.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/timers.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kOfScheduler = 1;
constexpr std::uint64_t kHigh = 1U << 11U;
constexpr std::uint64_t kMessage = 1U << 12U;
constexpr std::uint64_t kName = 1U << 14U;
constexpr std::uint64_t kProcess = 1U << 15U;
constexpr std::uint64_t kPort = 1U << 16U;
constexpr std::uint64_t kCallback = 1U << 17U;
constexpr std::uint64_t kSameTime = 2;

/// A node with one normal scheduler, whose wheel and tree are empty.
class Timers : public OnStandardNode {
  protected:
    struct Found {
        std::vector<records::Timer> timers;
        std::vector<records::TimerWheel> wheels;
        std::size_t pages = 0;
        TimerReader::Left left;
    };
    Found read(bool moving = false, std::size_t most = 100) {
        Found found;
        auto reader = TimerReader::open(fresh(), moving).value();
        found.left = reader
                         .read(most,
                               [&](records::Timers& page) -> Result<void> {
                                   ++found.pages;
                                   found.timers.insert(found.timers.end(), page.timer().begin(),
                                                       page.timer().end());
                                   found.wheels.insert(found.wheels.end(), page.wheel().begin(),
                                                       page.wheel().end());
                                   return {};
                               })
                         .value();
        return found;
    }

    FakeStruct scheduler() { return node.vm.at("ErtsSchedulerData", vm->tables().schedulers); }
    FakeStruct wheel() { return node.vm.at("ErtsTimerWheel", scheduler().get("timer_wheel")); }
    FakeStruct service() {
        return node.vm.at("ErtsHLTimerService", scheduler().get("timer_service"));
    }
    Address slot_at(std::uint32_t slot) { return wheel().at("slots") + (slot + 1) * 8; }
    FakeStruct part(const std::string& structure, Address timer) {
        return node.vm.at(structure, timer);
    }
    FakeStruct in_wheel(Address timer) {
        return part("ErtsTWheelTimer", part("ErtsTWTimer", timer).at("tw_tmr"));
    }

    /// A message timer's structure, as long as any.
    Address timer(std::uint64_t flags, std::uint64_t receiver) {
        const auto address = node.vm.make("ErtsBifTimer").address();
        part("ErtsTmrHead", address).set("roflgs", kOfScheduler | flags).set("receiver", receiver);
        return address;
    }
    Address for_worker(std::uint64_t more = 0) {
        return timer(kMessage | kProcess | more, node.worker.address());
    }
    /// Puts timers in a slot, in this order.
    void put(std::uint32_t slot, const std::vector<Address>& timers) {
        for (std::size_t at = 0; at < timers.size(); ++at) {
            const auto next = timers[(at + 1) % timers.size()];
            const auto prev = timers[(at + timers.size() - 1) % timers.size()];
            in_wheel(timers[at])
                .set("timeout_pos", 1000 + slot)
                .set("arg", timers[at])
                .set("slot", slot)
                .set("next", in_wheel(next).address())
                .set("prev", in_wheel(prev).address());
        }
        node.vm.memory.put(slot_at(slot), in_wheel(timers.front()).address());
        wheel().set("nto", wheel().get("nto") + timers.size());
    }
    FakeStruct in_tree(Address timer) { return part("ErtsHLTimer", timer); }
    /// A tree of three, by their timeouts; their addresses.
    std::vector<Address> tree() {
        const std::vector<Address> all = {for_worker(kHigh), for_worker(kHigh), for_worker(kHigh)};
        in_tree(all[0]).set("timeout", 20).set("tree.left", all[1]).set("tree.right", all[2]);
        in_tree(all[1]).set("timeout", 10).set("tree.parent", all[0] | 1);
        in_tree(all[2]).set("timeout", 30).set("tree.parent", all[0] | 1);
        service().set("time_tree", all[0]);
        return all;
    }
    static std::vector<std::int64_t> timeouts(const Found& found) {
        std::vector<std::int64_t> all;
        for (const auto& timer : found.timers) {
            all.push_back(timer.timeout_position());
        }
        return all;
    }
};

TEST_P(Timers, SayWhatTheyAre) {
    const auto message = for_worker();
    const auto fragment = make_fragment(node.vm, {1, 2, 3});
    const auto reference = part("ErtsBifTimer", message).at("btm.refn");
    node.vm.memory.put(reference, std::uint64_t{22} << 32U | 11);
    node.vm.memory.put(reference + 8, std::uint32_t{33});
    part("ErtsBifTimer", message).set("btm.bp", fragment.address());
    const auto named = timer(kMessage | kName, node.vm.atom("nobody"));
    const auto waiting = timer(kProcess, node.worker.address());
    node.vm.at("TimerOwner", node.worker.address()).set("common.timer", waiting);
    const auto port = node.vm.add_port(5, "tcp_inet", "tcp_inet");
    const auto of_port = timer(kPort, port.address());
    node.vm.at("TimerOwner", port.address()).set("common.timer", of_port);
    put(7, {message, named});
    put(9000, {waiting});
    put(UINT32_MAX, {of_port});
    wheel().set("pos", 900);
    const auto found = read();
    EXPECT_EQ(found.left.schedulers + found.left.lost + found.left.missing, 0U) << found.left.why;
    ASSERT_EQ(found.timers.size(), 4U);
    EXPECT_EQ(found.timers[0].kind(), records::TIMER_KIND_PORT);
    EXPECT_TRUE(found.timers[0].has_port_number());
    const auto owner = decode(node.worker).value().facts.owner_id();
    EXPECT_EQ(found.timers[1].kind(), records::TIMER_KIND_MESSAGE);
    EXPECT_EQ(found.timers[1].receiver_owner_id(), owner);
    EXPECT_EQ(found.timers[1].timeout_position(), 1007);
    EXPECT_EQ(found.timers[1].message_words(), 3U);
    EXPECT_THAT(found.timers[1].reference_number(), ElementsAre(33, 22, 11));
    EXPECT_EQ(found.timers[2].receiver_name_atom(), node.vm.atom_index("nobody"));
    EXPECT_FALSE(found.timers[2].has_receiver_owner_id());
    EXPECT_EQ(found.timers[2].message_words(), 0U);
    EXPECT_EQ(found.timers[3].kind(), records::TIMER_KIND_RECEIVE);
    EXPECT_EQ(found.timers[3].receiver_owner_id(), owner);
    EXPECT_FALSE(found.timers[3].has_message_words());
    ASSERT_EQ(found.wheels.size(), 1U);
    EXPECT_EQ(found.wheels[0].position(), 900);
    EXPECT_EQ(found.wheels[0].wheel_timers(), 4U);
}

TEST_P(Timers, BeyondTheWheelAreInATreeWithRings) {
    const auto all = tree();
    const auto first = for_worker(kHigh);
    const auto second = for_worker(kHigh);
    in_tree(all[1]).set("tree.same_time", first);
    in_tree(first)
        .set("timeout", 10)
        .set("tree.parent", in_tree(all[1]).at("tree.same_time") | kSameTime)
        .set("tree.list_next", second)
        .set("tree.list_prev", second);
    in_tree(second)
        .set("timeout", 10)
        .set("tree.parent", kSameTime)
        .set("tree.list_next", first)
        .set("tree.list_prev", first);
    for (const bool moving : {false, true}) {
        const auto found = read(moving);
        EXPECT_EQ(found.left.lost, 0U) << found.left.why;
        EXPECT_THAT(timeouts(found), ElementsAre(20, 10, 10, 10, 30));
        EXPECT_TRUE(found.timers[0].high_level());
        EXPECT_EQ(found.wheels[0].tree_timers(), 5U);
    }
}

TEST_P(Timers, TheVmsAndCancelledTimersAreCounted) {
    const auto callback = timer(kCallback, kNowhere);
    const auto internal = for_worker();
    const auto cancelled = for_worker();
    part("ErtsBifTimer", cancelled).set("btm.state", 1);
    const auto not_its_own = timer(kProcess, node.worker.address());
    put(1, {callback, internal, cancelled, not_its_own});
    in_wheel(internal).set("arg", scheduler().address());
    const auto found = read();
    EXPECT_EQ(found.left.lost, 0U) << found.left.why;
    EXPECT_TRUE(found.timers.empty());
    EXPECT_EQ(found.wheels[0].internal(), 2U);
    EXPECT_EQ(found.wheels[0].cancelled(), 2U);
}

TEST_P(Timers, AreHandedOverInPages) {
    put(3, {for_worker(), for_worker(), for_worker(), for_worker(), for_worker()});
    const auto found = read(true, 2);
    EXPECT_EQ(found.timers.size(), 5U);
    EXPECT_EQ(found.pages, 3U);
}

TEST_P(Timers, AListThatDoesNotLeadBackIsCut) {
    const std::vector<Address> timers = {for_worker(), for_worker(), for_worker(), for_worker()};
    put(3, timers);
    put(4, {for_worker()});
    // Around among the last ones for ever.
    in_wheel(timers[3]).set("next", in_wheel(timers[1]).address());
    for (const bool moving : {false, true}) {
        const auto found = read(moving);
        EXPECT_EQ(found.timers.size(), 5U);
        EXPECT_EQ(found.left.lost, 1U);
        EXPECT_THAT(found.left.why, HasSubstr("in slot 3 of scheduler 1"));
    }
    // To nowhere; the rest is missing.
    in_wheel(timers[1]).set("next", kNowhere);
    const auto found = read();
    EXPECT_EQ(found.timers.size(), 3U);
    EXPECT_EQ(found.left.lost, 1U);
    EXPECT_EQ(found.left.missing, 2U);
}

TEST_P(Timers, AListWhoseFirstIsNotAfterItsLastIsNotProven) {
    const std::vector<Address> timers = {for_worker(), for_worker()};
    put(3, timers);
    in_wheel(timers[0]).set("prev", in_wheel(timers[0]).address());
    EXPECT_EQ(read().left.lost, 1U);
}

TEST_P(Timers, AListThatEmptiesMeanwhileLosesNothing) {
    const std::vector<Address> timers = {for_worker(), for_worker()};
    put(3, timers);
    // They go when the second one is read.
    node.vm.memory.before_read([&](memory::AddressRange range) {
        if (range.begin <= timers[1] && timers[1] < range.end) {
            node.vm.memory.put(slot_at(3), std::uint64_t{0});
            in_wheel(timers[0]).set("next", 0).set("prev", 0);
            in_wheel(timers[1]).set("slot", 4);
        }
    });
    const auto found = read(true);
    EXPECT_EQ(found.timers.size(), 1U);
    EXPECT_EQ(found.left.lost, 0U);
    EXPECT_EQ(read(false).left.lost, 0U);
    put(3, timers);
    EXPECT_EQ(read(false).left.lost, 1U);
}

TEST_P(Timers, AListThatGrowsAsFastAsItIsReadEnds) {
    std::vector<Address> timers = {for_worker(), for_worker()};
    put(3, timers);
    // Whenever the last one is read, another one is set.
    constexpr std::size_t kMost = 20'000;
    node.vm.memory.before_read([&](memory::AddressRange range) {
        const auto last = timers.back();
        if (range.begin <= last && last < range.end && timers.size() < kMost) {
            timers.push_back(for_worker());
            const auto first = in_wheel(timers.front());
            in_wheel(timers.back())
                .set("timeout_pos", 1003)
                .set("arg", timers.back())
                .set("slot", 3)
                .set("next", first.address())
                .set("prev", in_wheel(last).address());
            in_wheel(last).set("next", in_wheel(timers.back()).address());
            in_wheel(timers.front()).set("prev", in_wheel(timers.back()).address());
        }
    });
    const auto found = read(true);
    EXPECT_LT(found.timers.size(), kMost / 2);
    EXPECT_EQ(found.left.lost, 1U);
    EXPECT_THAT(found.left.why, HasSubstr("are set faster than they are read"));
}

TEST_P(Timers, ATreeWithALoopEnds) {
    const auto all = tree();
    in_tree(all[2]).set("tree.right", all[0]).set("tree.left", all[2]);
    const auto found = read();
    EXPECT_THAT(timeouts(found), ElementsAre(20, 10, 30));
    EXPECT_EQ(found.left.lost, 2U);
    in_tree(all[0]).set("tree.left", kNowhere);
    EXPECT_EQ(read().left.lost, 3U);
}

TEST_P(Timers, ATreeThatIsNotSortedIsCut) {
    const auto all = tree();
    in_tree(all[2]).set("timeout", 15);
    const auto found = read();
    EXPECT_THAT(timeouts(found), ElementsAre(20, 10));
    EXPECT_THAT(found.left.why, HasSubstr("with a timeout between 20 and"));
}

TEST_P(Timers, TimersOfAnotherSchedulerOrWithoutReceiverAreNone) {
    put(1, {timer(kMessage | kProcess | kHigh, node.worker.address())});
    put(2, {timer(kMessage | kProcess | 2, node.worker.address())});
    put(3, {timer(kMessage | kProcess | kName, node.worker.address())});
    put(4, {timer(kMessage | kProcess, node.worker.address() + 8)});
    put(5, {timer(kMessage | kName, node.worker.address())});
    put(6, {timer(kProcess, kNowhere)});
    put(7, {timer(kMessage | kPort, node.worker.address())});
    const auto found = read();
    EXPECT_TRUE(found.timers.empty());
    EXPECT_EQ(found.left.lost, 7U);
}

TEST_P(Timers, AWheelThatIsNoneIsCounted) {
    wheel().set("w", kNowhere);
    const auto found = read();
    EXPECT_EQ(found.left.schedulers, 1U);
    EXPECT_THAT(found.left.why, HasSubstr("expected its first slot at"));
    ASSERT_EQ(found.wheels.size(), 1U);
    EXPECT_FALSE(found.wheels[0].has_wheel_timers());
    scheduler().set("timer_wheel", kNowhere);
    EXPECT_EQ(read().left.schedulers, 1U);
}

TEST_P(Timers, NeedTheSchedulers) {
    auto tables = vm->tables();
    tables.schedulers = 0;
    vm->know(vm->facts(), tables, {});
    EXPECT_EQ(TimerReader::open(*vm, false).error().code, ErrorCode::kNotFound);
}

BEAMDUMP_FOR_EACH_LAYOUT(Timers);

}  // namespace
}  // namespace beamdump::beam
