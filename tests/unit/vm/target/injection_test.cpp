#include "support/child_process.h"

#include <libvm/target/process/clock.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/twin.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace beamdump::target {
namespace {

using beamdump::test::ChildProcess;
using ::testing::HasSubstr;

/// So much that the kernel takes milliseconds for a fork, and for the twin's end.
constexpr std::size_t kResidentBytes = std::size_t{128} << 20U;

/// A process with a thread "reader" that waits in read(2).
void live() {
    auto* const memory = static_cast<char*>(::mmap(nullptr, kResidentBytes, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int silent[2] = {-1, -1};
    if (memory == MAP_FAILED || ::madvise(memory, kResidentBytes, MADV_NOHUGEPAGE) != 0 ||
        ::pipe(silent) != 0) {
        ::_exit(1);
    }
    std::fill_n(memory, kResidentBytes, 'x');
    static std::atomic<bool> reads;
    std::thread([end = silent[0]] {
        ::pthread_setname_np(::pthread_self(), "reader");
        char byte = 0;
        reads = true;
        [[maybe_unused]] const auto got = ::read(end, &byte, 1);
    }).detach();
    while (!reads) {
        ::usleep(1000);
    }
}

TwinLimits limits_with(StopTracker* stops) {
    TwinLimits limits;
    limits.copied_bytes = 1U << 20U;
    limits.threads = {"reader"};
    limits.stops = stops;
    return limits;
}

class InjectionTest : public ::testing::Test {
  protected:
    InjectionTest() : child_(live), before_(entries()) {}

    /// The child's threads and their children.
    [[nodiscard]] std::vector<std::string> entries() const {
        std::vector<std::string> found;
        const auto tasks = fmt::format("/proc/{}/task", child_.pid());
        for (const auto& task : std::filesystem::directory_iterator(tasks)) {
            found.push_back(task.path().filename());
            std::ifstream children(task.path() / "children");
            for (std::string child; children >> child;) {
                found.push_back("child " + child);
            }
        }
        std::ranges::sort(found);
        return found;
    }

    /// One attempt to make a twin that is given up after some time; true if it was made in time,
    /// and let go.
    [[nodiscard]] bool attempt(std::chrono::nanoseconds time) const {
        auto injection = Injection::prepare(child_.pid(), std::vector<std::string>{"reader"});
        // As long as a busy machine needs.
        auto stop = ThreadStop::stop(child_.pid(), {.within = std::chrono::seconds(30)});
        const auto written = injection && stop ? injection->write_frames(*stop)
                                               : fail(ErrorCode::kChanged, "it was not stopped");
        if (!written) {
            ADD_FAILURE() << written.error().message;
            return false;
        }
        const auto born = injection->run(clock_ns(CLOCK_MONOTONIC) + time.count());
        stop->resume([&](pid_t thread, const ThreadStatus& look) {
            if (!born && thread == injection->borrowed()) {
                injection->call_off(thread, look);
            }
        });
        EXPECT_TRUE(injection->let_go());
        return born.has_value();
    }

    ChildProcess child_;
    std::vector<std::string> before_;
};

TEST_F(InjectionTest, CalledOffBeforeTheForkItMakesNothing) {
    EXPECT_FALSE(attempt(std::chrono::nanoseconds(0)));
    // The fork alone takes milliseconds.
    for (int look = 0; look < 500; ++look) {
        ASSERT_EQ(entries(), before_);
    }
}

TEST_F(InjectionTest, AnAbandonedCallIsRemovedWhereverItStands) {
    std::chrono::nanoseconds time = std::chrono::microseconds(20);
    bool made = false;
    for (int attempts = 0; !made && attempts < 60; ++attempts) {
        made = attempt(time);
        ASSERT_EQ(entries(), before_) << "given up after " << time.count() << " ns";
        time += time / 4;
    }
    EXPECT_TRUE(made);
}

TEST_F(InjectionTest, ATwinThatNobodyHoldsIsWaitedFor) {
    const auto limits = limits_with(nullptr);
    for (int i = 0; i < 5; ++i) {
        ChildProcess holder([&] {
            static const auto held = Twin::make(child_.pid(), limits);
            if (!held) {
                ::_exit(1);
            }
        });
        const auto refused = Twin::make(child_.pid(), limits);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kExists);
        EXPECT_THAT(refused.error().message,
                    HasSubstr(fmt::format("held by process {})", holder.pid())));
        holder.kill();
        // On a busy machine the former twin takes longer to end than one attempt waits.
        bool made = false;
        for (int attempts = 0; !made && attempts < 100; ++attempts) {
            const auto twin = Twin::make(child_.pid(), limits);
            made = twin.has_value();
            ASSERT_TRUE(made || twin.error().message.contains("has not ended yet"))
                << twin.error().message;
        }
        EXPECT_TRUE(made);
    }
    EXPECT_EQ(entries(), before_);
}

TEST_F(InjectionTest, AHeldTwinIsFoundBeforeAnythingIsStopped) {
    StopTracker stops;
    const auto limits = limits_with(&stops);
    const auto twin = Twin::make(child_.pid(), limits);
    ASSERT_TRUE(twin) << twin.error().message;
    const auto second = Twin::make(child_.pid(), limits);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message,
                HasSubstr(fmt::format("already has a twin (process {}, held by process {})",
                                      twin->pid(), ::getpid())));
    EXPECT_EQ(stops.costs().size(), 1U);
}

}  // namespace
}  // namespace beamdump::target
