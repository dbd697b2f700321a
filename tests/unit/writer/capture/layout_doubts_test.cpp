#include "capture/node/node_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string said(const LayoutDoubts& doubts) {
    beam::VmFacts node;
    node.otp_release = "27";
    node.erts_version = "15.1";
    return doubts.sentence(node, beam::Layout()).value_or("");
}

TEST(LayoutDoubts, SayThatAPatchWasNotCompared) {
    EXPECT_THAT(said({}), IsEmpty());
    LayoutDoubts doubts;
    doubts.other_than = {"15.2.7", "15.2.7"};
    EXPECT_THAT(said(doubts), HasSubstr("ERTS 15.1 of the node was not compared with the layout of "
                                        "OTP 27, which is known to hold for 15.2.7: "));
    doubts.other_than->last = "15.3";
    EXPECT_THAT(said(doubts), HasSubstr("known to hold from 15.2.7 to 15.3: "));
}

}  // namespace
}  // namespace beamdump::capture
