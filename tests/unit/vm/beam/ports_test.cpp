#include "fake_vm/each_layout.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/ports.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Ports : public OnStandardNode {
  protected:
    struct Found {
        std::vector<records::Port> ports;
        std::size_t pages = 0;
        std::uint64_t unreadable = 0;
        PortReader::Left left;
    };
    Result<Found> read(std::size_t most = 100) {
        Found found;
        ASSIGN_OR_RETURN(auto reader, PortReader::open(fresh()));
        ASSIGN_OR_RETURN(
            const auto left, reader.read(most, [&](records::Ports& page) -> Result<void> {
                ++found.pages;
                found.ports.insert(found.ports.end(), page.port().begin(), page.port().end());
                return {};
            }));
        found.unreadable = left.unreadable;
        found.left = left;
        return found;
    }

    /// From OTP 27 on an id is scattered over the slots.
    std::uint64_t number(std::uint32_t slot) {
        return node.vm.constant("pid_number_bits") < 28
                   ? slot
                   : format::identifier_data(slot, FakeVm::kSlots);
    }
    std::uint64_t flag(std::string_view name) { return node.vm.constant(name); }
};

/// What inet_drv's data of a port begin with.
TEST_P(Ports, OfInetDrvHaveTheirSocket) {
    auto good = node.vm.add_port(5, "tcp_inet", "tcp_inet");
    auto other = node.vm.add_port(6, "tcp_inet", "tcp_inet");
    auto spawned = node.vm.add_port(7, "cat", "spawn");
    const auto data = [&](const FakeStruct& port, std::uint64_t event) {
        return node.vm.heap.place_words(
            std::vector<std::uint64_t>{21, event, 1, port.address(), port.get("common.id")});
    };
    good.set("drv_data", data(good, 21));
    other.set("drv_data", data(other, 22));  // closed meanwhile: not of one moment
    spawned.set("drv_data", data(spawned, 21));
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 3U);
    EXPECT_EQ(found.ports[0].file_descriptor(), 21U);
    EXPECT_FALSE(found.ports[1].has_file_descriptor());
    EXPECT_FALSE(found.ports[2].has_file_descriptor());
}

TEST_P(Ports, SayWhatTheyAre) {
    auto socket = node.vm.add_port(5, "tcp_inet", "tcp_inet");
    socket.set("connected", node.vm.pid(node.worker.slot()))
        .set("bytes_in", 10)
        .set("bytes_out", 20)
        .set("ioq.size", 30)
        .set("sched.flags", flag("port_task_busy"))
        .set("state", flag("port_state_connected") | flag("port_state_distribution"));
    auto program = node.vm.add_port(9, "sh -c true", "spawn");
    program.set("os_pid", 4711)
        .set("connected", node.vm.pid(1))
        .set("state", flag("port_state_closing"));
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 2U);
    const auto& first = found.ports[0];
    EXPECT_EQ(first.number(), number(5));
    EXPECT_EQ(first.name(), "tcp_inet");
    EXPECT_EQ(first.driver(), "tcp_inet");
    EXPECT_EQ(first.connected_owner_id(), number(node.worker.slot()));
    EXPECT_EQ(first.input_bytes(), 10U);
    EXPECT_EQ(first.output_bytes(), 20U);
    EXPECT_EQ(first.queued_bytes(), 30U);
    EXPECT_TRUE(first.busy() && first.distribution() && !first.closing());
    EXPECT_FALSE(first.has_os_pid());
    const auto& second = found.ports[1];
    EXPECT_EQ(second.number(), number(9));
    EXPECT_EQ(second.driver(), "spawn");
    EXPECT_EQ(second.os_pid(), 4711);
    EXPECT_FALSE(second.has_connected_owner_id());
    EXPECT_TRUE(second.closing() && !second.busy());
    EXPECT_EQ(found.unreadable, 0U);
}

TEST_P(Ports, ThatAreBusyNameWhoWaits) {
    node.vm.add_port(5, "busy", "x")
        .set("suspended", process_ring({node.worker.pid(), node.auth.pid()})[0]);
    node.vm.add_port(6, "idle", "x");
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 2U);
    EXPECT_EQ(found.ports[0].suspended(), 2U);
    EXPECT_THAT(found.ports[0].suspended_owner_id(),
                ElementsAre(owner(node.worker), owner(node.auth)));
    EXPECT_TRUE(found.ports[1].has_suspended());
    EXPECT_EQ(found.ports[1].suspended(), 0U);
    EXPECT_EQ(found.left.suspended, 0U);
}

TEST_P(Ports, AListOfProcessesThatIsNoneIsAbsent) {
    node.vm.add_port(5, "busy", "x").set("suspended", kNowhere);
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 1U);
    EXPECT_FALSE(found.ports[0].has_suspended());
    EXPECT_EQ(found.left.suspended, 1U);
    EXPECT_NE(found.left.why, "");
}

class PortQueues : public Ports {
  protected:
    /// A port with three entries in its queue, of 60 bytes, two of them in one driver binary.
    FakeStruct queued(std::uint64_t bytes) {
        auto port = node.vm.add_port(5, "tcp_inet", "tcp_inet");
        const auto vectors = node.vm.heap.place_words(
            std::vector<std::uint64_t>{first, 10, first + 10, 20, second, 30});
        const auto binaries =
            node.vm.heap.place_words(std::vector<std::uint64_t>{first, first, second});
        return port.set("ioq.size", bytes)
            .set("ioq.v_head", vectors)
            .set("ioq.v_tail", vectors + 6 * kWordBytes)
            .set("ioq.b_head", binaries);
    }
    static constexpr std::uint64_t kWordBytes = 8;
    // Each begins with its size.
    Address first = node.vm.heap.place_words(std::vector<std::uint64_t>{100});
    Address second = node.vm.heap.place_words(std::vector<std::uint64_t>{50});
};

TEST_P(PortQueues, TellTheirBinariesOnceEach) {
    queued(60);
    node.vm.add_port(6, "idle", "x");
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 2U);
    const auto& port = found.ports[0];
    EXPECT_EQ(port.queued_binaries(), 2U);
    EXPECT_EQ(port.queued_binary_bytes(), 150U);
    const auto before = vm->layout().field("Binary", "orig_size").value().offset;
    EXPECT_THAT(port.queued_binary_address(),
                ::testing::UnorderedElementsAre(first - before, second - before));
    EXPECT_TRUE(found.ports[1].has_queued_binaries());
    EXPECT_EQ(found.ports[1].queued_binaries(), 0U);
    EXPECT_EQ(found.left.queues, 0U);
}

TEST_P(PortQueues, ThatDoNotAddUpAreAbsent) {
    queued(61);
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 1U);
    EXPECT_EQ(found.ports[0].queued_bytes(), 61U);
    EXPECT_FALSE(found.ports[0].has_queued_binaries());
    EXPECT_FALSE(found.ports[0].has_queued_binary_bytes());
    EXPECT_EQ(found.ports[0].queued_binary_address_size(), 0);
    EXPECT_EQ(found.left.queues, 1U);
    EXPECT_THAT(found.left.why_queue, HasSubstr("expected 61 bytes"));
}

TEST_P(PortQueues, OfTooManyEntriesAreAbsent) {
    auto port = queued(60);
    port.set("ioq.v_tail", port.get("ioq.v_head") + (PortReader::kMostQueueEntries + 1) * 16);
    const auto found = read().value();
    EXPECT_FALSE(found.ports[0].has_queued_binaries());
    EXPECT_THAT(found.left.why_queue, HasSubstr("at most 65536 entries, found 65537"));
}

BEAMDUMP_FOR_EACH_LAYOUT(PortQueues);

TEST_P(Ports, ComeInPages) {
    for (std::uint32_t slot = 0; slot < 10; ++slot) {
        node.vm.add_port(slot, "x", "x");
    }
    const auto found = read(4).value();
    EXPECT_EQ(found.ports.size(), 10U);
    EXPECT_EQ(found.pages, 3U);
}

TEST_P(Ports, ThatCannotBeReadAreCounted) {
    node.vm.add_port(1, "one", "x");
    node.vm.add_port(2, "two", "x").set("name", kNowhere);
    node.vm.add_port(3, "three", "x").set("drv_ptr", kNowhere);
    node.vm.add_port(4, "four", "x").set("common.id", node.vm.pid(4));
    node.vm.add_port(5, "five", "x").set("common.reg", kNowhere);
    const auto found = read().value();
    ASSERT_EQ(found.ports.size(), 1U);
    EXPECT_EQ(found.ports[0].name(), "one");
    EXPECT_EQ(found.unreadable, 4U);
}

TEST_P(Ports, ATableThatLiesIsRefused) {
    node.vm.at("ErtsPTab", node.vm.globals().ports).set("tab", kNowhere);
    EXPECT_THAT(read().error().message, HasSubstr("port table at"));
}

TEST_P(Ports, LongNamesAreCut) {
    node.vm.add_port(1, std::string(10'000, 'x'), "x");
    EXPECT_EQ(read().value().ports.at(0).name().size(), 4096U);
}

BEAMDUMP_FOR_EACH_LAYOUT(Ports);

}  // namespace
}  // namespace beamdump::beam
