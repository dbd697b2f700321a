#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PortsTest : public ::testing::Test {
  protected:
    Program program_;
};

TEST_F(PortsTest, ListsWithOwnersTheLongestQueueFirst) {
    const auto ran = program_.run({"ports", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out,
              "PORT        NAME             DRIVER    CONNECTED  OWNER  INPUT   OUTPUT    QUEUE"
              "  OS PID  BUSY\n"
              "#Port<0.5>  tcp_inet         tcp_inet  <0.1.0>    alpha  100 B  1.9 MiB  4.0 KiB"
              "          yes\n"
              "#Port<0.6>  sh -c \"sleep 1\"  spawn                         0 B        ?        ?"
              "    4711\n");
}

TEST_F(PortsTest, LeavesOutWhatIsUnknown) {
    const auto ran =
        program_.run({"ports", "sample.beamdump", "--json", "--filter", "os_pid=4711"});
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 2,\n  \"matching\": 1"));
    EXPECT_THAT(ran.out, HasSubstr("\"registered_name\": \"alpha\""));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"output\"")));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"connected\"")));
}

TEST_F(PortsTest, OwnersAreGroupedByTheirInitialCall) {
    const auto ran = program_.run({"ports", "sample.beamdump", "--group-by", "owner_initial_call"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("demo:loop/1"));
    const auto one = program_.run(
        {"ports", "sample.beamdump", "--json", "--filter", "owner_initial_call=demo:loop/1"});
    EXPECT_THAT(one.out, HasSubstr("\"total\": 2,\n  \"matching\": 1"));
    EXPECT_THAT(one.out, HasSubstr("\"owner_initial_call\": \"demo:loop/1\""));
}

TEST_F(PortsTest, WrongFieldsAreUsageErrors) {
    const auto ran = program_.run({"ports", "no_such.beamdump", "--sort", "quue"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("did you mean \"queue\"?"));
}

TEST_F(PortsTest, ADumpWithoutPortsSaysSo) {
    const auto ran = program_.run({"ports", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no ports"));
    EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace beamdump::test
