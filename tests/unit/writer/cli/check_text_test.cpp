#include "cli/check_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace beamdump::cli {
namespace {

using ::testing::HasSubstr;

TEST(CheckText, EscapesWhatANodeSaysOfItself) {
    // ESC, BEL, a line end, and what turns text round.
    const std::string forged = "e\x1B]0;x\a\nf\xE2\x80\xAEg";
    const std::string shown = "e\\x1B]0;x\\x07\\x0Af\\u202Eg";
    check::NodeCheck check;
    const auto lines = std::ranges::count(check_text(check, "", true), '\n');
    check.node_name = forged;
    check.executable = forged;
    check.vm.otp_release = forged;
    check.vm.erts_version = forged;
    check.access.target_user = forged;
    check.access.our_user = forged;
    check.layout.layout_name = forged;
    check.layout.layout_release = forged;
    check.twin = fail(ErrorCode::kLimit, forged);
    check.short_twin = fail(ErrorCode::kLimit, forged);
    check.memory_left = fail(ErrorCode::kLimit, forged);
    const auto text = check_text(check, "", true);
    EXPECT_THAT(text, HasSubstr(shown + ": OTP " + shown));
    EXPECT_THAT(text, HasSubstr("refused: " + shown));
    const bool controls = std::ranges::any_of(
        text, [](char c) { return c != '\n' && static_cast<unsigned char>(c) < ' '; });
    EXPECT_FALSE(controls) << text;
    EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
    // One line more: what is too large for a short twin. Three fewer of the twin that is refused.
    EXPECT_EQ(std::ranges::count(text, '\n'), lines - 2) << text;
}

}  // namespace
}  // namespace beamdump::cli
