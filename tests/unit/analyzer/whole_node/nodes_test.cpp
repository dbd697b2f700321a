#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Of dist.c, info_dist_entry() and what follows it.
constexpr std::string_view kCrashWithNodes = R"(=erl_crash_dump:0.5
Sun Nov 22 02:18:55 2026
Slogan: boom
System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:1] [ds:2:1:10]
=visible_node:2
Name: 'far@there'
Controller: #Port<0.5>
Creation: 1718
=remote_monitoring:<0.9.0> 'far@there' <0.9.0>
=hidden_node:3
Name: 'tool@there'
Controller: <0.9.0>
=not_connected:1
Name: 'gone@there'
=proc:<0.9.0>
State: Waiting
Name: alpha
=end
)";

class NodesTest : public ::testing::Test {
  protected:
    Program program_;
};

TEST_F(NodesTest, ListsConnectionsTheLongestQueueFirst) {
    const auto ran = program_.run({"nodes", "sample.beamdump"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(
        ran.out,
        R"(NODE          TYPE           STATE      CONTROLLER  NAME              QUEUE  BUSY  SUSPENDED     IN     OUT
Needs Quotes  visible        connected  #Port<0.5>                  1.0 MiB  yes           0  1,000  20,000
alpha         hidden         exiting    <0.2.0>     'Needs Quotes'      0 B                0      ?       ?
loop          not_connected  pending                                      ?  ?             ?      ?       ?
nodes: 1 hidden, 1 not_connected, 1 visible
)");
}

TEST_F(NodesTest, LeavesOutWhatIsUnknown) {
    const auto ran =
        program_.run({"nodes", "sample.beamdump", "--json", "--filter", "state=pending"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("\"total\": 3,\n  \"matching\": 1"));
    EXPECT_THAT(ran.out, HasSubstr(R"({
      "node": "loop",
      "type": "not_connected",
      "state": "pending"
    })"));
}

TEST_F(NodesTest, NamesWhatControlsAConnection) {
    const auto ran =
        program_.run({"nodes", "sample.beamdump", "--json", "--filter", "type=hidden"});
    EXPECT_THAT(ran.out, HasSubstr(R"("controller": "<0.2.0>")"));
    EXPECT_THAT(ran.out, HasSubstr(R"("name": "'Needs Quotes'")"));
}

TEST_F(NodesTest, ACrashDumpHasNamesTypesAndControllers) {
    const auto text = std::as_bytes(std::span(kCrashWithNodes));
    program_.put("crash.dump", {text.begin(), text.end()});
    const auto ran =
        program_.run({"nodes", program_.path("crash.dump"), "--json", "--sort", "node"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(R"([
    {
      "node": "far@there",
      "type": "visible",
      "controller": "#Port<0.5>"
    },
    {
      "node": "gone@there",
      "type": "not_connected"
    },
    {
      "node": "tool@there",
      "type": "hidden",
      "controller": "<0.9.0>",
      "name": "alpha",
      "controller_display_name": "alpha"
    }
  ])"));
}

TEST_F(NodesTest, ADumpWithoutThemSaysSo) {
    const auto ran = program_.run({"nodes", "later.beamdump"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("the dump has no other nodes"));
    EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace beamdump::test
