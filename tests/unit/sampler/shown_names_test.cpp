// Names of a node in what the sampler writes for a terminal.
#include "show/stacks.h"

#include <libsample/node/perf_map.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::sampler {
namespace {

using ::testing::HasSubstr;

/// Line separators, a next line of C1, and marks of direction.
constexpr std::string_view kControls = "\u2028\u2029\u0085\u202e\u2066\x1b";
constexpr std::string_view kEscaped = R"(\u2028\u2029\u0085\u202E\u2066\x1B)";

class Text final : public Output {
  public:
    std::string text;

  private:
    Result<void> put(std::string_view more) override {
        text += more;
        return {};
    }
};

std::string named(std::string_view controls) {
    return fmt::format("'{}':run/0", controls);
}

TEST(ShownNames, StacksHaveNoTerminalControls) {
    Text output;
    StacksText shown(output);
    ProcessStack stack;
    stack.process.registered = kControls;
    stack.frames = {named(kControls)};
    shown.process(stack);
    SchedulerStack scheduler;
    scheduler.native_frames = {std::string(kControls)};
    scheduler.stack = stack;
    shown.scheduler(scheduler);
    StacksReport report;
    report.node = kControls;
    shown.end(report);
    output.flush();
    for (const auto control : {"\u2028", "\u2029", "\u0085", "\u202e", "\u2066", "\x1b"}) {
        EXPECT_FALSE(output.text.contains(control)) << output.text;
    }
    EXPECT_THAT(output.text, HasSubstr("    " + named(kEscaped) + "\n"));
    EXPECT_THAT(output.text, HasSubstr("[native] " + std::string(kEscaped)));
}

TEST(ShownNames, ThePerfMapHasNoTerminalControls) {
    EXPECT_EQ(perf_map_line(0x1000, 0x1010, named(kControls)),
              "1000 10 $" + named(kEscaped) + "\n");
}

}  // namespace
}  // namespace beamdump::sampler
