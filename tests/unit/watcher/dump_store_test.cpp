#include "dumps/dump_store.h"

#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace beamdump::watch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::HasSubstr;

const sys_seconds kMorning{std::chrono::sys_days(std::chrono::year(2026) / 11 / 28) + hours(6)};

StoredDump dump(const std::string& node, seconds at, std::uint64_t bytes = 10) {
    return {.path = dump_name(node, kMorning + at, "rule"),
            .node = node,
            .at = kMorning + at,
            .bytes = bytes};
}

std::vector<seconds> removed(const std::vector<StoredDump>& dumps, std::uint64_t keep,
                             std::optional<std::uint64_t> bytes = std::nullopt) {
    std::vector<seconds> times;
    for (const auto& gone : dumps_to_remove(in_order_of_removal(dumps, hours(24)), keep, bytes)) {
        times.push_back(gone.at - kMorning);
    }
    return times;
}

void write_file(const std::filesystem::path& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x');
}

TEST(DumpStoreTest, NamesSayNodeTimeAndRule) {
    const auto name = dump_name("rabbit@host-1", kMorning + seconds(61), "my rule");
    EXPECT_EQ(name, "rabbit@host_1-20261128T060101Z-my_rule.beamdump");
    const auto parsed = parse_dump_name(name);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->node, "rabbit@host_1");
    EXPECT_EQ(parsed->at, kMorning + seconds(61));
    EXPECT_FALSE(parsed->unfinished);
    EXPECT_TRUE(parse_dump_name(name + ".partial")->unfinished);
    EXPECT_EQ(dump_name("../x", kMorning, "/r"), "_.._x-20261128T060000Z-_r.beamdump");
    for (const auto* const other : {"x.beamdump", "a-20261328T060000Z-r.beamdump", "a.txt",
                                    "a-20261128T060000Z-r.beamdump.gz"}) {
        EXPECT_FALSE(parse_dump_name(other)) << other;
    }
}

TEST(DumpStoreTest, TheOldestGoButTheFirstOfAnIncidentStays) {
    const std::vector<StoredDump> dumps{dump("a", seconds(0)), dump("a", seconds(10)),
                                        dump("a", seconds(20)), dump("b", seconds(5)),
                                        dump("a", hours(48))};
    EXPECT_THAT(removed(dumps, 5), testing::IsEmpty());
    EXPECT_THAT(removed(dumps, 4), testing::ElementsAre(seconds(10)));
    EXPECT_THAT(removed(dumps, 3), testing::ElementsAre(seconds(10), seconds(20)));
    // Only first ones are left: the oldest of them.
    EXPECT_THAT(removed(dumps, 2), testing::ElementsAre(seconds(10), seconds(20), seconds(0)));
    EXPECT_THAT(removed(dumps, 5, 35), testing::ElementsAre(seconds(10), seconds(20)));
}

TEST(DumpStoreTest, TenThousandTriggersKeepTheLimits) {
    const test::TemporaryDirectory folder;
    Limits limits;
    limits.most = 3;
    limits.keep = 4;
    limits.free_bytes = 0;
    auto store = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(store) << store.error().message;
    std::uint64_t taken = 0;
    // One a second, for 10,000 seconds of two nodes: the distance is ten minutes.
    for (int at = 0; at < 10'000; ++at) {
        const auto room =
            store->admit(at % 2 == 0 ? "a" : "b", "memory", seconds(at), kMorning + seconds(at));
        if (room) {
            write_file(room->path, 10);
            ++taken;
        } else {
            EXPECT_EQ(room.error().code, ErrorCode::kLimit) << room.error().message;
        }
        const auto dumps = store->dumps();
        ASSERT_TRUE(dumps);
        ASSERT_LE(dumps->size(), limits.keep);
    }
    EXPECT_EQ(taken, 6);
    const auto day_later = store->admit("a", "memory", hours(25), kMorning + hours(25));
    EXPECT_TRUE(day_later) << day_later.error().message;
}

TEST(DumpStoreTest, LimitsHoldAfterARestartOfTheWatcherAndWithAClockThatJumped) {
    const test::TemporaryDirectory folder;
    Limits limits;
    limits.free_bytes = 0;
    {
        auto store = DumpStore::open(folder.path(), limits);
        ASSERT_TRUE(store);
        for (int taken = 0; taken < 3; ++taken) {
            const auto room = store->admit("a", "memory", hours(taken), kMorning + hours(taken));
            ASSERT_TRUE(room) << room.error().message;
            write_file(room->path, 10);
        }
    }
    auto later = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(later);
    const auto refused = later->admit("a", "memory", milliseconds(5), kMorning + hours(3));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("3 dumps of this node in 24 h"));
    later = std::unexpected(Error{});
    // The wall clock went back a year: the dumps are of the future, and still count.
    auto jumped = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(jumped);
    EXPECT_FALSE(jumped->admit("a", "memory", milliseconds(5), kMorning - hours(24 * 365)));
    EXPECT_TRUE(jumped->admit("b", "memory", milliseconds(5), kMorning - hours(24 * 365)));
}

TEST(DumpStoreTest, AFullDiskKeepsTheFirstDumpAndIsRefused) {
    const test::TemporaryDirectory folder;
    write_file(folder.path() / dump_name("a", kMorning, "memory"), 10);
    write_file(folder.path() / dump_name("a", kMorning + seconds(30), "memory"), 10);
    Limits limits;
    limits.free_bytes = std::uint64_t{1} << 60U;
    auto store = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(store);
    const auto refused = store->admit("b", "memory", seconds(1), kMorning + minutes(20));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(refused.error().message, HasSubstr("of which 1.0 EiB stay free"));
    ASSERT_EQ(store->dumps()->size(), 1);
    EXPECT_EQ(store->dumps()->front().at, kMorning);
    EXPECT_EQ(store->removed().size(), 1);
}

TEST(DumpStoreTest, WhatADumpHasInAnyCaseIsKeptBack) {
    const test::TemporaryDirectory folder;
    constexpr std::uint64_t kBeyond = 100'000;
    Limits limits;
    limits.free_bytes = 0;
    limits.bytes = 5'000'000;
    {
        auto store = DumpStore::open(folder.path(), limits);
        ASSERT_TRUE(store);
        const auto room = store->admit("a", "memory", seconds(1), kMorning, kBeyond);
        ASSERT_TRUE(room) << room.error().message;
        EXPECT_EQ(room->most_bytes, 4'900'000);
    }
    limits.bytes.reset();
    auto store = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(store);
    // No disk has that much.
    const auto refused = store->admit("a", "memory", seconds(1), kMorning, std::uint64_t{1} << 60U);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoSpace);
}

TEST(DumpStoreTest, ADumpThatWasNotMadeDoesNotCount) {
    const test::TemporaryDirectory folder;
    Limits limits;
    limits.free_bytes = 0;
    auto store = DumpStore::open(folder.path(), limits);
    ASSERT_TRUE(store);
    ASSERT_TRUE(store->admit("a", "memory", seconds(1), kMorning));
    EXPECT_FALSE(store->admit("a", "memory", seconds(2), kMorning));
    store->withdraw("a");
    EXPECT_TRUE(store->admit("a", "memory", seconds(3), kMorning));
}

TEST(DumpStoreTest, ASecondWatcherIsRefused) {
    const test::TemporaryDirectory folder;
    const auto first = DumpStore::open(folder.path(), {});
    ASSERT_TRUE(first);
    const auto second = DumpStore::open(folder.path(), {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kExists);
    EXPECT_THAT(second.error().message, HasSubstr("another beamdump-watch"));
}

TEST(DumpStoreTest, AFolderThatCannotBe) {
    const auto refused = DumpStore::open("/proc/1/nowhere", {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("/proc/1/nowhere"));
}

}  // namespace
}  // namespace beamdump::watch
