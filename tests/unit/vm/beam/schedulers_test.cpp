#include "fake_vm/each_layout.h"

#include <libvm/beam/activity/schedulers.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A node with one normal, two dirty CPU and three dirty I/O schedulers.
class Schedulers : public OnStandardNode {
  protected:
    SchedulerReader::Read read() { return SchedulerReader::open(fresh()).value().read().value(); }
    FakeStruct scheduler(Address array, std::uint32_t number = 1) {
        return node.vm.at("ErtsSchedulerData",
                          array + (number - 1) * node.vm.bytes("ErtsAlignedSchedulerData"));
    }
    FakeStruct normal() { return scheduler(vm->tables().schedulers); }
    FakeStruct queue() { return node.vm.at("ErtsRunQueue", normal().get("run_queue")); }
    FakeStruct sleep(FakeStruct of) { return node.vm.at("ErtsSchedulerSleep", of.get("ssi")); }
    void set_part(std::string_view field, std::uint32_t at, std::uint32_t length) {
        const auto infos = queue().at(field);
        node.vm.at("ErtsRunQueueInfo", infos + at * node.vm.bytes("ErtsRunQueueInfo"))
            .set("len", length);
    }
    std::uint64_t flag(std::string_view name) { return node.vm.constant(name); }
};

TEST_P(Schedulers, AreListedWithTheirQueues) {
    const auto found = read();
    EXPECT_EQ(found.unreadable, 0U) << found.why;
    EXPECT_THAT(found.not_found, IsEmpty());
    std::vector<std::pair<int, std::uint32_t>> numbers;
    for (const auto& one : found.schedulers.scheduler()) {
        numbers.emplace_back(one.kind(), one.number());
        EXPECT_FALSE(one.busy());
        EXPECT_TRUE(one.has_busy() && one.has_sleeping() && one.has_suspended());
        EXPECT_FALSE(one.has_current_owner_id() || one.has_current_port_number());
    }
    EXPECT_THAT(numbers, ElementsAre(std::pair(1, 1U), std::pair(2, 1U), std::pair(2, 2U),
                                     std::pair(3, 1U), std::pair(3, 2U), std::pair(3, 3U)));
    ASSERT_EQ(found.schedulers.run_queue_size(), 3);
    EXPECT_TRUE(found.schedulers.run_queue(0).has_number());
    EXPECT_FALSE(found.schedulers.run_queue(1).has_number());
    EXPECT_EQ(found.schedulers.run_queue(2).kind(), records::SCHEDULER_KIND_DIRTY_IO);
}

TEST_P(Schedulers, SayWhatTheyRunAndWhatWaits) {
    const auto port = node.vm.add_port(5, "tcp_inet", "tcp_inet");
    normal().set("current_process", node.worker.address()).set("current_port", port.address());
    queue().set("len", 1111 + 5);
    set_part("procs.prio_info", 0, 1);
    set_part("procs.prio_info", 1, 10);
    set_part("procs.prio_info", 2, 100);
    set_part("procs.prio_info", 3, 1000);
    set_part("ports.info", 0, 5);
    const auto second = scheduler(vm->tables().dirty_cpu_schedulers, 2);
    sleep(second).set("flags",
                      flag("scheduler_sleep_sleeping") | flag("scheduler_sleep_suspended"));
    const auto found = read();
    EXPECT_EQ(found.unreadable, 0U) << found.why;
    const auto& one = found.schedulers.scheduler(0);
    EXPECT_TRUE(one.busy() && !one.sleeping() && !one.suspended());
    EXPECT_EQ(one.current_owner_id(), decode(node.worker).value().facts.owner_id());
    EXPECT_TRUE(one.has_current_port_number());
    EXPECT_TRUE(found.schedulers.scheduler(2).sleeping() &&
                found.schedulers.scheduler(2).suspended());
    const auto& waiting = found.schedulers.run_queue(0);
    EXPECT_EQ(waiting.length(), 1116U);
    EXPECT_EQ(waiting.max_length(), 1U);
    EXPECT_EQ(waiting.high_length(), 10U);
    EXPECT_EQ(waiting.normal_length(), 100U);
    EXPECT_EQ(waiting.low_length(), 1000U);
    EXPECT_EQ(waiting.port_length(), 5U);
}

class EndedProcesses : public Schedulers {
  protected:
    /// A list of off-heap objects of so many members, the last of which leads to one of them.
    std::vector<Address> list(std::size_t members, std::optional<std::size_t> to) {
        std::vector<Address> made;
        for (std::size_t at = 0; at < members; ++at) {
            made.push_back(node.vm.heap.place_words(std::vector<std::uint64_t>(4, 0)));
        }
        for (std::size_t at = 0; at < members; ++at) {
            const bool last = at + 1 == members;
            node.vm.at("OffHeapHeader", made[at])
                .set("next", !last ? made[at + 1]
                             : to  ? made[*to]
                                   : 0);
        }
        node.vm.at("Process", node.worker.address()).set("off_heap.first", made.front());
        return made;
    }
};

TEST_P(EndedProcesses, AreToldOfTheSchedulerThatFreesThem) {
    normal().set("free_process", node.worker.address());
    list(3, std::nullopt);
    const auto one = read().schedulers.scheduler(0);
    EXPECT_TRUE(one.busy());
    EXPECT_FALSE(one.has_current_owner_id());
    EXPECT_EQ(one.freed_owner_id(), decode(node.worker).value().facts.owner_id());
    EXPECT_FALSE(one.has_off_heap_circle());
}

TEST_P(EndedProcesses, ACircleOfOffHeapObjectsIsFound) {
    normal().set("free_process", node.worker.address());
    for (const std::size_t members : {1, 2, 7, 100}) {
        for (const std::size_t to : {std::size_t{0}, members / 2, members - 1}) {
            const auto made = list(members, to);
            const auto one = read().schedulers.scheduler(0);
            EXPECT_EQ(one.off_heap_circle(), members - to) << members << " to " << to;
            EXPECT_EQ(one.off_heap_circle_address(), made[to]) << members << " to " << to;
        }
    }
    list(3000, 2999);
    EXPECT_FALSE(read().schedulers.scheduler(0).has_off_heap_circle());
}

TEST_P(EndedProcesses, ThoseThatExitAreLookedAtAndOthersAreNot) {
    normal().set("current_process", node.worker.address());
    list(2, 0);
    EXPECT_FALSE(read().schedulers.scheduler(0).has_off_heap_circle());
    auto process = node.vm.at("Process", node.worker.address());
    process.set("state", process.get("state") | flag("state_exiting"));
    EXPECT_EQ(read().schedulers.scheduler(0).off_heap_circle(), 2U);
}

BEAMDUMP_FOR_EACH_LAYOUT(EndedProcesses);

TEST_P(Schedulers, AQueueThatDoesNotAddUpHasNoLengths) {
    queue().set("len", 2);
    set_part("procs.prio_info", 2, 1);
    const auto found = read();
    EXPECT_EQ(found.unreadable, 1U);
    EXPECT_THAT(found.why, HasSubstr("expected a length of 1, the sum of its parts, found 2"));
    EXPECT_EQ(found.schedulers.run_queue_size(), 3);
    EXPECT_FALSE(found.schedulers.run_queue(0).has_length());
    EXPECT_TRUE(found.schedulers.run_queue(1).has_length());
}

TEST_P(Schedulers, ThatCannotBeReadAreCounted) {
    normal().set("current_process", kNowhere);
    queue().set("ix", 7);
    scheduler(vm->tables().dirty_cpu_schedulers, 1).set("current_process", node.init.address() + 8);
    scheduler(vm->tables().dirty_io_schedulers, 3).set("dirty_no", 4);
    const auto found = read();
    EXPECT_EQ(found.unreadable, 4U);
    EXPECT_EQ(found.schedulers.scheduler_size(), 6);
    for (const int place : {0, 1, 5}) {
        EXPECT_FALSE(found.schedulers.scheduler(place).has_busy()) << place;
    }
    EXPECT_FALSE(found.schedulers.run_queue(0).has_length());
}

TEST_P(Schedulers, ReductionsAreThoseOfTheNormalOnes) {
    const auto reductions = [&] { return SchedulerReader::open(fresh()).value().reductions(); };
    queue().set("procs.reductions", 123'456'789'012);
    node.vm.at("ErtsRunQueue", scheduler(vm->tables().dirty_cpu_schedulers).get("run_queue"))
        .set("procs.reductions", 7);
    EXPECT_EQ(reductions().value(), 123'456'789'012U);
    queue().set("ix", 7);
    EXPECT_EQ(reductions().error().code, ErrorCode::kImplausible);
}

TEST_P(Schedulers, SchedulersOfAKindThatWasNotFoundAreNamed) {
    auto tables = vm->tables();
    tables.dirty_io_schedulers = 0;
    vm->know(vm->facts(), tables, {});
    const auto found = read();
    EXPECT_THAT(found.not_found, ElementsAre("dirty I/O schedulers"));
    EXPECT_EQ(found.schedulers.scheduler_size(), 3);
    tables.schedulers = tables.dirty_cpu_schedulers = 0;
    vm->know(vm->facts(), tables, {});
    EXPECT_EQ(SchedulerReader::open(*vm).error().code, ErrorCode::kNotFound);
}

TEST_P(Schedulers, MoreThanANodeCanHaveAreRefused) {
    auto facts = vm->facts();
    facts.schedulers = 1025;
    vm->know(facts, vm->tables(), {});
    EXPECT_THAT(SchedulerReader::open(*vm).error().message, HasSubstr("at most 1024"));
}

TEST_P(Schedulers, AreFoundInAStrippedNode) {
    const auto stripped = node.vm.located(FakeVm::Symbols::kNone);
    EXPECT_EQ(stripped->tables().schedulers, vm->tables().schedulers);
    EXPECT_EQ(stripped->tables().dirty_cpu_schedulers, vm->tables().dirty_cpu_schedulers);
    EXPECT_EQ(stripped->tables().dirty_io_schedulers, vm->tables().dirty_io_schedulers);
}

BEAMDUMP_FOR_EACH_LAYOUT(Schedulers);

}  // namespace
}  // namespace beamdump::beam
