#include "capture/session/choice.h"

#include "fake_vm/each_layout.h"

#include <gmock/gmock.h>

namespace beamdump::capture {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChoiceTest : public OnStandardNode {
  protected:
    /// Whether init, auth and the worker are wanted.
    std::vector<bool> wanted(const CaptureOptions& options) {
        const auto choice = Choice::make(fresh(), options).value();
        return {choice.wants(node.init.bytes()), choice.wants(node.auth.bytes()),
                choice.wants(node.worker.bytes())};
    }
    std::string error(const std::string& process) {
        CaptureOptions options;
        options.processes = {process};
        return Choice::make(fresh(), options).error().message;
    }
    std::string pid_text(const FakeProcess& process) {
        const auto owner =
            beam::PidWords::resolve(layout, FakeVm::kSlots)->owner_id(process.pid()).value();
        return fmt::format("<0.{}.{}>", owner & 0xffffffffU, owner >> 32U);
    }
};

TEST_P(ChoiceTest, WithoutAnyIsAll) {
    EXPECT_THAT(wanted({}), ElementsAre(true, true, true));
}

TEST_P(ChoiceTest, IsByPidOrName) {
    CaptureOptions options;
    options.processes = {pid_text(node.worker)};
    EXPECT_THAT(wanted(options), ElementsAre(false, false, true));
    options.processes = {"auth", pid_text(node.init).substr(1, pid_text(node.init).size() - 2)};
    EXPECT_THAT(wanted(options), ElementsAre(true, true, false));
    EXPECT_THAT(error("<0.987.0>"), HasSubstr("no process <0.987.0>"));
    EXPECT_THAT(error("nobody"), HasSubstr("registered as 'nobody'"));
    EXPECT_THAT(error("hello"), HasSubstr("registered as 'hello'"));
    EXPECT_THAT(error("0.1.x"), HasSubstr("registered as '0.1.x'"));
}

TEST_P(ChoiceTest, IsByRank) {
    CaptureOptions options;
    options.top = 1;
    // The worker has a fragment more than the others, and all the messages.
    EXPECT_THAT(wanted(options), ElementsAre(false, false, true));
    options.by = ChooseBy::kQueue;
    EXPECT_THAT(wanted(options), ElementsAre(false, false, true));
    options.by = ChooseBy::kReductions;
    node.init.structure().set("reds", 5000);
    EXPECT_THAT(wanted(options), ElementsAre(true, false, false));
    options.top = 2;
    EXPECT_THAT(wanted(options), ElementsAre(true, false, true));
}

TEST_P(ChoiceTest, IsNotMadeOfATableThatLies) {
    node.vm.at("ErtsPTab", node.vm.globals().processes).set("max", 1000);
    CaptureOptions options;
    options.top = 1;
    EXPECT_FALSE(Choice::make(fresh(), options));
    EXPECT_THAT(error("0.1.0"), HasSubstr("process table"));
}

BEAMDUMP_FOR_EACH_LAYOUT(ChoiceTest);

}  // namespace
}  // namespace beamdump::capture
