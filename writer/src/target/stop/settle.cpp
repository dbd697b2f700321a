#include "target/stop/settle.h"

#include "target/process/clock.h"
#include "target/stop/ptrace_calls.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace beamdump::target {
namespace {

constexpr std::chrono::microseconds kMoment{10};

bool is_scheduler(pid_t thread) {
    std::ifstream file(fmt::format("/proc/{}/comm", thread));
    std::string name;
    return std::getline(file, name) && is_scheduler_name(name);
}

/// Schedulers at work whose state is not certain; `all` gets every thread at work.
std::vector<pid_t> uncertain(const ThreadStop& stop, const Settling& settling,
                             std::vector<ThreadRegisters>& all) {
    std::vector<pid_t> found;
    all.clear();
    for (const auto thread : stop.threads()) {
        // One that cannot be read has been killed: it runs nothing.
        const auto read = stop.at_rest(thread) ? read_registers(thread)
                                               : fail(ErrorCode::kChanged, "handles a signal");
        if (!read) {
            continue;
        }
        const auto registers = thread_registers(thread, *read);
        if (registers.in_system_call) {
            continue;
        }
        all.push_back(registers);
        if (!settling.certain(registers) && is_scheduler(thread)) {
            found.push_back(thread);
        }
    }
    if (settling.restless) {
        for (const auto thread : settling.restless(all)) {
            if (std::ranges::find(found, thread) == found.end()) {
                found.push_back(thread);
            }
        }
    }
    return found;
}

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
    const auto end = clock_ns(CLOCK_MONOTONIC) + settling.longest.count();
    std::vector<ThreadRegisters> all;
    while (true) {
        const auto restless = uncertain(stop, settling, all);
        if (restless.empty() || clock_ns(CLOCK_MONOTONIC) >= end) {
            return all;
        }
        RETURN_IF_ERROR(stop.run_on(restless, kMoment));
    }
}

}  // namespace beamdump::target
