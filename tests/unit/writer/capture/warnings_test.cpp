#include "capture/node/activity_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace beamdump::capture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Timers = beam::TimerReader::Left;
using Connections = beam::DistributionReader::Left;
using Ports = beam::PortReader::Left;

/// The warnings of a trailer that `warn_of` added to.
template <typename... Arguments, typename... Given>
std::vector<std::string> told(void (&warn_of)(Arguments...), const Given&... given) {
    records::Trailer trailer;
    warn_of(given..., trailer);
    return {trailer.warning().begin(), trailer.warning().end()};
}

TEST(Warnings, WarningsOfTimersTellNoZeroCounts) {
    EXPECT_THAT(told(warn_of_timers, Timers{}, false), IsEmpty());
    EXPECT_THAT(told(warn_of_timers,
                     Timers{.schedulers = 0, .lost = 1, .missing = 0, .why = "a, not b"}, true),
                ElementsAre("the rest of 1 list or tree of timers could not be read, as: "
                            "a, not b"));
    EXPECT_THAT(
        told(warn_of_timers, Timers{.schedulers = 1, .lost = 0, .missing = 0, .why = "a"}, true),
        ElementsAre("timers of 1 scheduler could not be read, as: a"));
    EXPECT_THAT(
        told(warn_of_timers, Timers{.schedulers = 2, .lost = 1200, .missing = 0, .why = "a"}, true),
        ElementsAre("timers of 2 schedulers, and the rest of 1,200 lists or trees of "
                    "timers could not be read, as: a"));
}

TEST(Warnings, WarningsOfTimersTellMissingOnesWhereNothingMoves) {
    const Timers one{.schedulers = 0, .lost = 0, .missing = 1, .why = ""};
    EXPECT_THAT(told(warn_of_timers, one, true), IsEmpty());
    EXPECT_THAT(told(warn_of_timers, one, false),
                ElementsAre("1 timer that the node counts was not in its timer wheels: it was due, "
                            "or could not be read"));
    EXPECT_THAT(
        told(warn_of_timers, Timers{.schedulers = 0, .lost = 0, .missing = 2, .why = ""}, false),
        ElementsAre("2 timers that the node counts were not in its timer wheels: they were "
                    "due, or could not be read"));
}

TEST(Warnings, WarningsOfConnectionsTellNoZeroCounts) {
    EXPECT_THAT(told(warn_of_connections, Connections{}), IsEmpty());
    EXPECT_THAT(told(warn_of_connections, Connections{.unreadable = 1, .suspended = 0, .why = "a"}),
                ElementsAre("1 other node could not be read, as: a"));
    EXPECT_THAT(told(warn_of_connections, Connections{.unreadable = 0, .suspended = 2, .why = "a"}),
                ElementsAre("the processes that 2 connections have suspended could not be read, "
                            "as: a"));
    EXPECT_THAT(told(warn_of_connections, Connections{.unreadable = 3, .suspended = 1, .why = "a"}),
                ElementsAre("3 other nodes, and the processes that 1 connection has suspended "
                            "could not be read, as: a"));
}

TEST(Warnings, WarningsOfPersistentTermsTellNoZeroCounts) {
    beam::PersistentTermReader::Counts counts;
    EXPECT_THAT(told(warn_of_persistent_terms, counts), IsEmpty());
    counts.changed = 1;
    EXPECT_THAT(told(warn_of_persistent_terms, counts),
                ElementsAre("1 persistent term is left out: it changed each time that it was "
                            "read"));
    counts.changed = 0;
    counts.unreadable = 2;
    EXPECT_THAT(told(warn_of_persistent_terms, counts),
                ElementsAre("2 persistent terms are left out, as they were unreadable"));
}

TEST(Warnings, WarningsOfSchedulersAndPortsHavePlurals) {
    EXPECT_THAT(told(warn_of_schedulers, 0, ""), IsEmpty());
    EXPECT_THAT(told(warn_of_schedulers, 1, "a"),
                ElementsAre("1 scheduler or run queue could not be read, as: a"));
    EXPECT_THAT(told(warn_of_ports, Ports{}), IsEmpty());
    EXPECT_THAT(told(warn_of_ports, Ports{.unreadable = 1, .suspended = 0, .why = ""}),
                ElementsAre("1 port changed each time that it was read"));
    EXPECT_THAT(told(warn_of_ports, Ports{.unreadable = 2, .suspended = 1, .why = "a"}),
                ElementsAre("2 ports changed each time that they were read",
                            "the processes that 1 port has suspended could not be read, as: a"));
    EXPECT_THAT(told(warn_of_ports, Ports{.queues = 2, .why_queue = "b"}),
                ElementsAre("the binaries in the queue of 2 ports could not be read, as: b"));
}

}  // namespace
}  // namespace beamdump::capture
