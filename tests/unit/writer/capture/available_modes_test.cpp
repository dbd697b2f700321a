#include "capture/modes/available_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AvailableModes, EachIsAvailableWhereANodeCanBeStoppedAndForked) {
    const Abilities all{Architecture::kX86_64, true, true};
    for (const auto mode : {records::CAPTURE_MODE_FREEZE, records::CAPTURE_MODE_LIVE,
                            records::CAPTURE_MODE_AUTO, records::CAPTURE_MODE_SNAPSHOT}) {
        EXPECT_TRUE(check_mode(mode, all)) << mode;
    }
    EXPECT_THAT(auto_shortcoming(all), IsEmpty());
}

TEST(AvailableModes, ModesThatStopANodeAreRefusedWhereItCannotBeStopped) {
    const Abilities none{Architecture::kAarch64, false, false};
    EXPECT_TRUE(check_mode(records::CAPTURE_MODE_LIVE, none));
    EXPECT_TRUE(check_mode(records::CAPTURE_MODE_AUTO, none));
    const auto freeze = check_mode(records::CAPTURE_MODE_FREEZE, none);
    ASSERT_FALSE(freeze);
    EXPECT_EQ(freeze.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(freeze.error().message, HasSubstr("mode freeze is not available on aarch64 yet"));
    const auto snapshot = check_mode(records::CAPTURE_MODE_SNAPSHOT, none);
    ASSERT_FALSE(snapshot);
    EXPECT_THAT(snapshot.error().message,
                HasSubstr("mode snapshot is not available on aarch64 yet"));
    EXPECT_THAT(auto_shortcoming(none), HasSubstr("reads the node as mode live does: on aarch64"));
}

TEST(AvailableModes, ATwinNeedsMoreThanAStop) {
    const Abilities stops{Architecture::kAarch64, true, false};
    EXPECT_TRUE(check_mode(records::CAPTURE_MODE_FREEZE, stops));
    EXPECT_FALSE(check_mode(records::CAPTURE_MODE_SNAPSHOT, stops));
    EXPECT_THAT(auto_shortcoming(stops), IsEmpty());
}

}  // namespace
}  // namespace beamdump::capture
