#include "support/child_process.h"

#include <libvm/target/process/relatives.h>

#include <gtest/gtest.h>

#include <set>

namespace beamdump::target {
namespace {

//            1
//      10         11
//    20  21
//    30
const Parents kFamily{{10, 1}, {11, 1}, {20, 10}, {21, 10}, {30, 20}};

std::optional<Relative> nearest(pid_t pid, const std::set<pid_t>& wanted) {
    return find_relative(pid, kFamily, [&](pid_t other) { return wanted.contains(other); });
}

TEST(Relatives, NearestFirstAndDescendantsBeforeAncestors) {
    EXPECT_EQ(nearest(10, {21, 30})->pid, 21);
    EXPECT_EQ(nearest(10, {21, 30})->relation, "child");
    EXPECT_EQ(nearest(10, {30})->relation, "descendant");
    EXPECT_EQ(nearest(20, {30, 10})->pid, 30);
    EXPECT_EQ(nearest(30, {20, 10})->pid, 20);
    EXPECT_EQ(nearest(30, {20})->relation, "parent");
    EXPECT_EQ(nearest(30, {10})->relation, "ancestor");
}

TEST(Relatives, NotThemselvesNorTheirSiblings) {
    EXPECT_FALSE(nearest(10, {10}));
    EXPECT_FALSE(nearest(10, {11}));
    EXPECT_FALSE(nearest(99, {10}));
}

TEST(Relatives, EndOnACircle) {
    // Possible if pids were reused while /proc was read.
    const Parents circle{{5, 6}, {6, 5}};
    EXPECT_FALSE(find_relative(5, circle, [](pid_t) { return false; }));
}

TEST(Relatives, AreReadFromTheSystem) {
    beamdump::test::ChildProcess child([] {});
    const auto parents = running_processes();
    EXPECT_EQ(parents.at(child.pid()), ::getpid());
}

}  // namespace
}  // namespace beamdump::target
