#include <libvm/nodes/vm_finder.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace beamdump::nodes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Processes 1 to 1000; some run a VM, whose parent is `parents`' or 1.
class VmFinderTest : public testing::Test {
  protected:
    VmFinderTest() : processes_(1000) { std::iota(processes_.begin(), processes_.end(), 1); }

    std::vector<pid_t> processes_;
    std::map<pid_t, pid_t> vms_;
    std::size_t asked_ = 0;
    VmFinder finder_{VmFinder::Machine{[this] { return processes_; },
                                       [this](pid_t pid) -> std::optional<pid_t> {
                                           ++asked_;
                                           const auto vm = vms_.find(pid);
                                           return vm == vms_.end() ? std::nullopt
                                                                   : std::optional(vm->second);
                                       }}};
};

TEST_F(VmFinderTest, FindsThoseThatRunAlreadyAndLeavesForksOut) {
    vms_ = {{20, 1}, {500, 1}, {501, 500}};
    EXPECT_THAT(finder_.look(), ElementsAre(20, 500));
}

TEST_F(VmFinderTest, LaterLooksAreAtFewProcesses) {
    finder_.look();
    asked_ = 0;
    finder_.look();
    EXPECT_EQ(asked_, VmFinder::kOldLooks);
}

TEST_F(VmFinderTest, ANewProcessIsLookedAtUntilItExecutesAVm) {
    finder_.look();
    processes_.push_back(1500);
    EXPECT_THAT(finder_.look(), IsEmpty());
    EXPECT_THAT(finder_.look(), IsEmpty());
    vms_[1500] = 1;
    EXPECT_THAT(finder_.look(), ElementsAre(1500));
}

TEST_F(VmFinderTest, AnOldProcessThatExecutesAVmIsFoundInTurn) {
    finder_.look();
    vms_[700] = 1;
    std::size_t looks = 0;
    while (finder_.look().empty()) {
        ASSERT_LT(++looks, processes_.size() / VmFinder::kOldLooks + 1);
    }
}

TEST_F(VmFinderTest, ForgetsThoseThatEnded) {
    vms_[1000] = 1;
    EXPECT_THAT(finder_.look(), ElementsAre(1000));
    processes_.pop_back();
    EXPECT_THAT(finder_.look(), IsEmpty());
}

}  // namespace
}  // namespace beamdump::nodes
