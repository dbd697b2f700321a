#include "capture/session/node_stopper.h"

#include "fake_vm/each_layout.h"
#include "support/memory_sink.h"

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using std::chrono::steady_clock;

class NodeStopperTest : public OnStandardNode {
  protected:
    /// A large process runs on a normal scheduler, or does not.
    void run(bool running) {
        const auto tables = node.vm.located()->tables();
        node.init.structure()
            .set("heap_sz", 1U << 20U)
            .set("state", running ? node.vm.constant("state_running") : 0);
        node.vm.at("ErtsSchedulerData", tables.schedulers)
            .set("current_process", node.init.address());
        vm->forget();
    }
    NodeStopper stopper(std::chrono::milliseconds patience) {
        return NodeStopper(
            {*vm, writer, nullptr, [](const std::string&) {}, [] { return false; }, patience},
            beam::YieldState::open(layout).value(), beam::NativeCalls::open(*vm, {}).value(),
            beam::Collectors::open(*vm).value());
    }
    std::uint64_t reads_of_waiting(NodeStopper& stopper) {
        const auto before = node.vm.memory.stats().reads;
        stopper.await_good_moment();
        return node.vm.memory.stats().reads - before;
    }

    DumpWriter writer =
        DumpWriter::create(std::make_unique<MemorySink>(std::make_shared<SinkContent>()), {})
            .value();
};

TEST_P(NodeStopperTest, WaitsForAGoodMomentAsLongAsItsPatienceLasts) {
    run(true);
    constexpr std::chrono::milliseconds kPatience{30};
    auto stopper = this->stopper(kPatience);
    const auto begin = steady_clock::now();
    // Before each stop for a third of it.
    for (int stop = 0; stop < 3; ++stop) {
        EXPECT_GT(reads_of_waiting(stopper), 0U);
    }
    EXPECT_GE(steady_clock::now() - begin, kPatience);
    EXPECT_EQ(reads_of_waiting(stopper), 0U);
}

TEST_P(NodeStopperTest, DoesNotWaitWhereTheMomentIsGood) {
    run(false);
    auto stopper = this->stopper(std::chrono::hours(1));
    for (int stop = 0; stop < 10; ++stop) {
        EXPECT_GT(reads_of_waiting(stopper), 0U);
    }
}

BEAMDUMP_FOR_EACH_LAYOUT(NodeStopperTest);

}  // namespace
}  // namespace beamdump::capture
