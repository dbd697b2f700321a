#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SocketsTest : public ::testing::Test {
  protected:
    Program program_;
};

TEST_F(SocketsTest, ListsWithPortsAndOwnersTheLongestQueueFirst) {
    const auto ran = program_.run({"sockets", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out,
              "FD  PROTOCOL  STATE       LOCAL          REMOTE           RECEIVE  SEND  WAITING  "
              "PORT        CONNECTED  OWNER\n"
              "21  tcp       CLOSE_WAIT  10.0.0.1:5672  10.0.0.9:40000  68.4 KiB   0 B           "
              "#Port<0.5>  <0.1.0>    alpha\n"
              "21\n"
              "22  tcp6      LISTEN      [::]:4369                                            5\n");
}

TEST_F(SocketsTest, AFilterThatMatchesNothingSaysWhy) {
    const auto ran = program_.run({"sockets", "sample.beamdump", "--filter", "close_wait"});
    EXPECT_EQ(ran.out, "no sockets match, of 3\nignoring case, 1 would match\n");
    EXPECT_EQ(program_.run({"sockets", "sample.beamdump", "--filter", "CLOSED"}).out,
              "no sockets match, of 3\n");
}

/// The descriptor of the port was another socket when the memory was read.
TEST_F(SocketsTest, OneThatWasOpenedMeanwhileHasNoPort) {
    const auto ran =
        program_.run({"sockets", "sample.beamdump", "--json", "--filter", "inode=1002"});
    EXPECT_THAT(ran.out, HasSubstr("\"matching\": 1"));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"port\"")));
    EXPECT_THAT(ran.out, Not(HasSubstr("\"protocol\"")));
}

TEST_F(SocketsTest, ADumpWithoutSocketsIsRefused) {
    const auto ran = program_.run({"sockets", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no sockets"));
}

}  // namespace
}  // namespace beamdump::test
