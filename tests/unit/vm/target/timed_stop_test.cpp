#include "support/child_process.h"

#include <libvm/target/process/proc_directory.h>
#include <libvm/target/stop/timed_stop.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Whether the process is in a tracer's stop.
bool stands(pid_t pid) {
    const auto directory = ProcDirectory::open(pid);
    const auto status = directory->read("status");
    return status && status->find("State:\tt") != std::string::npos;
}

/// A stop of at most `longest`: begun again where no processor was free for the child in time.
Result<TimedStop> short_stop(pid_t pid, std::chrono::milliseconds longest) {
    auto stop = TimedStop::begin(pid, {.longest = longest});
    for (int i = 0; i < 100 && !stop && stop.error().code == ErrorCode::kLimit; ++i) {
        stop = TimedStop::begin(pid, {.longest = longest});
    }
    return stop;
}

TEST(TimedStop, LastsUntilItIsEnded) {
    ChildProcess child([] {});
    auto stop = TimedStop::begin(child.pid());
    ASSERT_TRUE(stop) << stop.error().message;
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(stands(child.pid()));
    EXPECT_FALSE(stop->expired());
    EXPECT_GE(stop->elapsed(), 20ms);
    const auto cost = stop->end();
    EXPECT_FALSE(stands(child.pid()));
    EXPECT_EQ(cost.threads, 1U);
    EXPECT_GE(cost.length_ns, 20'000'000);
}

TEST(TimedStop, EndsByItselfWhateverItsOwnerWaitsFor) {
    ChildProcess child([] {});
    auto stop = short_stop(child.pid(), 10ms);
    ASSERT_TRUE(stop) << stop.error().message;
    for (int i = 0; i < 1000 && !stop->expired(); ++i) {
        std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(stop->expired());
    for (int i = 0; i < 1000 && stands(child.pid()); ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_FALSE(stands(child.pid()));
    EXPECT_EQ(stop->end().threads, 1U);
}

/// The shortest of a few, as a busy machine may wake the guardian late.
TEST(TimedStop, KeepsWithinItsTimeWithResuming) {
    constexpr auto kLongest = 40ms;
    std::int64_t shortest = std::chrono::nanoseconds(1h).count();
    for (int i = 0; i < 5; ++i) {
        ChildProcess child([] {});
        auto stop = short_stop(child.pid(), kLongest);
        ASSERT_TRUE(stop) << stop.error().message;
        while (!stop->expired()) {
            std::this_thread::sleep_for(1ms);
        }
        shortest = std::min(shortest, stop->end().length_ns);
    }
    EXPECT_LT(std::chrono::nanoseconds(shortest), kLongest);
    EXPECT_GT(std::chrono::nanoseconds(shortest), kLongest * 9 / 10);
}

TEST(TimedStop, EndsWithItsOwner) {
    ChildProcess child([] {});
    {
        auto stop = TimedStop::begin(child.pid());
        ASSERT_TRUE(stop) << stop.error().message;
        EXPECT_TRUE(stands(child.pid()));
    }
    EXPECT_FALSE(stands(child.pid()));
}

TEST(TimedStop, EndsWhenItIsCutShort) {
    ChildProcess child([] {});
    std::atomic<bool> cut = false;
    StopTracker stops;
    auto stop =
        TimedStop::begin(child.pid(), {.cut_short = [&] { return cut.load(); }, .stops = &stops});
    ASSERT_TRUE(stop) << stop.error().message;
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(stop->expired());
    EXPECT_TRUE(stops.costs().empty());
    cut = true;
    for (int i = 0; i < 1000 && stands(child.pid()); ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(stop->expired());
    EXPECT_FALSE(stands(child.pid()));
    EXPECT_EQ(stop->end().threads, 1U);
    ASSERT_EQ(stops.costs().size(), 1U);
    EXPECT_GE(stops.costs().front().length_ns, 20'000'000);
}

/// A process whose first thread is in uninterruptible sleep (vfork) until it is released.
class Hanging {
  public:
    Hanging() : child_([this] { hang(); }) {
        for (int i = 0; i < 1000 && flags()[1] == 0; ++i) {
            std::this_thread::sleep_for(1ms);
        }
    }
    /// The one that it waits for ends by itself, not with it.
    ~Hanging() { wake(); }
    Hanging(const Hanging&) = delete;
    Hanging& operator=(const Hanging&) = delete;
    [[nodiscard]] pid_t pid() const { return child_.pid(); }
    void wake() { flags()[0] = 1; }
    [[nodiscard]] bool woke() { return flags()[2] != 0; }

  private:
    volatile unsigned char* flags() { return page_.data(); }
    void hang() {
        std::thread([this] {
            if (::vfork() == 0) {
                flags()[1] = 1;
                while (flags()[0] == 0) {
                }
                ::_exit(0);
            }
            flags()[2] = 1;
        }).detach();
    }
    test::SharedAddress page_{1, PROT_READ | PROT_WRITE, MAP_SHARED};
    ChildProcess child_;
};

TEST(TimedStop, AStopThatCannotBeCompletedIsUndoneInTime) {
    Hanging process;
    StopTracker stops;
    const auto begin = std::chrono::steady_clock::now();
    auto stop = TimedStop::begin(process.pid(), {.longest = 30ms, .stops = &stops});
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, ErrorCode::kLimit);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
    EXPECT_FALSE(stands(process.pid()));
    ASSERT_EQ(stops.costs().size(), 1U);
    // Half of the time: more is of no use.
    EXPECT_THAT(stop.error().message, HasSubstr("did not stop within 15 ms"));
    // The stop counts from its first thread on, which is later than the 15 ms began.
    EXPECT_GE(stops.costs().front().length_ns, 10'000'000);
    // Nothing waits for the thread when it wakes: this process exists, but traces it no longer.
    process.wake();
    for (int i = 0; i < 1000 && !process.woke(); ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(process.woke());
    // The next stop can begin.
    EXPECT_TRUE(TimedStop::begin(process.pid(), {.stops = &stops}));
}

TEST(TimedStop, AllAttemptsTogetherKeepToItsTime) {
    Hanging process;
    StopTracker stops;
    int again = 0;
    auto stop = TimedStop::begin_repeatedly(process.pid(), {.longest = 20ms, .stops = &stops},
                                            [&] { ++again; });
    ASSERT_FALSE(stop);
    EXPECT_THAT(stop.error().message, HasSubstr("did not stop within 10 ms"));
    EXPECT_EQ(again, 0) << "a thread that hangs in the kernel will hang again";
    EXPECT_EQ(stops.costs().size(), 1U);
}

TEST(TimedStop, RefusesAProcessThatIsGone) {
    ChildProcess child([] {});
    const pid_t pid = child.pid();
    child.kill();
    auto stop = TimedStop::begin(pid, {.longest = 10ms});
    ASSERT_FALSE(stop);
    EXPECT_EQ(stop.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace beamdump::target
