#include <libdump/base/return_if_error.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/stop/ptrace_calls.h>
#include <libvm/target/stop/settle.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <ranges>
#include <string>

namespace beamdump::target {
namespace {

/// For how long threads run on: for longer where none has come to run.
constexpr std::chrono::microseconds kShortestMoment{10};
constexpr std::chrono::microseconds kLongestMoment{1000};
/// The last one of so many parts of the time is for what is enough.
constexpr int kLatePart = 5;

bool is_scheduler(pid_t thread) {
    std::ifstream file(fmt::format("/proc/{}/comm", thread));
    std::string name;
    return std::getline(file, name) && is_scheduler_name(name);
}

/// The threads of a stop. Each round of settling costs the node time: only threads
/// that ran on are read again.
class StoppedThreads {
  public:
    explicit StoppedThreads(const ThreadStop& stop) : stop_(stop) {}

    /// Whether one of them is elsewhere than it was.
    bool read(std::span<const pid_t> threads) {
        bool moved = false;
        for (const auto thread : threads) {
            const auto before = registers_.find(thread);
            const auto now = registers_of(thread);
            moved = moved || !now || before == registers_.end() || !now->stands_as(before->second);
            if (now) {
                registers_.insert_or_assign(thread, *now);
            } else {
                registers_.erase(thread);
            }
        }
        return moved;
    }

    /// Schedulers whose state is not certain. `late`: nor enough.
    std::vector<pid_t> uncertain(const Settling& settling, bool late) {
        std::vector<pid_t> found;
        for (const auto& [thread, registers] : registers_) {
            if (!registers.in_system_call() && !settling.certain(registers) &&
                !(late && settling.enough && settling.enough(registers)) && runs_erlang(thread)) {
                found.push_back(thread);
            }
        }
        return found;
    }

    [[nodiscard]] std::vector<ThreadRegisters> registers() const {
        const auto values = std::views::values(registers_);
        return {values.begin(), values.end()};
    }

  private:
    /// Nothing if it handles a signal or has been killed.
    [[nodiscard]] std::optional<ThreadRegisters> registers_of(pid_t thread) const {
        if (!stop_.at_rest(thread)) {
            return std::nullopt;
        }
        auto registers = read_thread_registers(thread);
        return registers ? std::optional(*registers) : std::nullopt;
    }

    bool runs_erlang(pid_t thread) {
        const auto [known, added] = schedulers_.try_emplace(thread, false);
        if (added) {
            known->second = is_scheduler(thread);
        }
        return known->second;
    }

    const ThreadStop& stop_;
    std::map<pid_t, ThreadRegisters> registers_;
    std::map<pid_t, bool> schedulers_;
};

}  // namespace

bool is_scheduler_name(std::string_view name) {
    const auto digits = [](std::string_view text) {
        return !text.empty() &&
               std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    };
    constexpr std::string_view kSuffix = "_scheduler";
    constexpr std::string_view kPrefix = "erts_sched_";
    return (name.ends_with(kSuffix) && digits(name.substr(0, name.size() - kSuffix.size()))) ||
           (name.starts_with(kPrefix) && digits(name.substr(kPrefix.size())));
}

Result<std::vector<ThreadRegisters>> settle(ThreadStop& stop, const Settling& settling) {
    const auto begin = clock_ns(CLOCK_MONOTONIC);
    const auto end = begin + settling.longest.count();
    const auto late = end - settling.longest.count() / kLatePart;
    const auto last = begin + std::max(settling.longest, settling.longest_restless).count();
    StoppedThreads threads(stop);
    threads.read(stop.threads());
    auto moment = kShortestMoment;
    bool ran = false;
    while (true) {
        const auto now = clock_ns(CLOCK_MONOTONIC);
        auto restless = now < end ? threads.uncertain(settling, now >= late) : std::vector<pid_t>();
        if (restless.empty() && settling.restless) {
            restless = settling.restless(threads.registers());
        }
        if (restless.empty() || now >= last) {
            break;
        }
        RETURN_IF_ERROR(stop.run_on(restless, moment));
        moment = threads.read(restless) ? kShortestMoment : std::min(2 * moment, kLongestMoment);
        ran = true;
    }
    if (ran) {
        RETURN_IF_ERROR(stop.stop_new());
    }
    return threads.registers();
}

}  // namespace beamdump::target
