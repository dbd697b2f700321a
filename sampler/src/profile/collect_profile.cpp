#include "profile/collect_profile.h"

#include "profile/node_events.h"
#include "profile/sample_stacks.h"
#include "target/process/clock.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{100};
constexpr std::chrono::milliseconds kBetweenThreadLists{100};
constexpr std::size_t kMostDelays = std::size_t{1} << 20U;

std::optional<std::string> scheduler_text(const SchedulerPlace* scheduler) {
    if (scheduler == nullptr) {
        return std::nullopt;
    }
    switch (scheduler->kind) {
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return fmt::format("dirty CPU scheduler {}", scheduler->number);
        case records::SCHEDULER_KIND_DIRTY_IO:
            return fmt::format("dirty I/O scheduler {}", scheduler->number);
        default:
            return fmt::format("scheduler {}", scheduler->number);
    }
}

class Collector {
  public:
    Collector(SampleStacks& stacks, NodeThreads& threads, const ProfileOptions& options,
              const std::atomic<bool>& cancelled, ProfileReport& report)
        : stacks_(stacks),
          threads_(threads),
          cancelled_(cancelled),
          report_(report),
          end_(Clock::now() + options.duration) {}

    Result<void> sample(NodeEvents& events) {
        auto threads_listed = Clock::now();
        while (going_on()) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
            RETURN_IF_ERROR(
                events.wait(std::clamp(left, std::chrono::milliseconds{1}, kLongestWait)));
            RETURN_IF_ERROR(take(events));
            if (Clock::now() - threads_listed >= kBetweenThreadLists) {
                threads_listed = Clock::now();
                RETURN_IF_ERROR(events.refresh());
            }
        }
        RETURN_IF_ERROR(take(events));
        std::ranges::sort(delays_);
        if (!delays_.empty()) {
            report_.delay_ns = delays_[delays_.size() / 2];
            report_.longest_delay_ns = delays_.back();
        }
        report_.lost = events.lost();
        report_.not_sampled = events.not_sampled();
        report_.kernel_seen = events.kernel_seen();
        return {};
    }

    Result<void> read(std::uint64_t rate) {
        const std::chrono::nanoseconds period{1'000'000'000 / rate};
        auto next = Clock::now();
        while (going_on()) {
            for (const auto& [key, scheduler] : threads_.all()) {
                ASSIGN_OR_RETURN(const auto found, stacks_.read(scheduler));
                if (!found) {
                    ++report_.without_process;
                    continue;
                }
                add(*found, {.scheduler = scheduler_text(&scheduler)});
            }
            // A reading that was too late is left out, not made up for.
            next = std::max(next + period, Clock::now());
            std::this_thread::sleep_until(std::min(next, end_));
        }
        return {};
    }

  private:
    [[nodiscard]] bool going_on() const {
        return Clock::now() < end_ && !cancelled_ && !report_.cut_short;
    }

    Result<void> take(NodeEvents& events) {
        Result<void> outcome;
        auto read = events.read([&](const Sample& sample, const std::string& name) {
            if (!outcome || report_.cut_short) {
                return;
            }
            auto found = stacks_.of(sample);
            if (!found) {
                outcome = std::unexpected(found.error());
                return;
            }
            if (delays_.size() < kMostDelays) {
                delays_.push_back(target::clock_ns(CLOCK_MONOTONIC) -
                                  static_cast<std::int64_t>(sample.time_ns));
            }
            add(*found, {sample.thread, name, scheduler_text(threads_.scheduler(sample.thread))});
        });
        return outcome ? read : outcome;
    }

    void add(const SampleStack& sample, const SampledThread& thread) {
        if (!report_.profile.add(sample, thread)) {
            report_.cut_short = true;
            report_.remarks.emplace_back(
                "there are more different stacks than are kept: the profile ends early");
        }
    }

    SampleStacks& stacks_;
    NodeThreads& threads_;
    const std::atomic<bool>& cancelled_;
    ProfileReport& report_;
    Clock::time_point end_;
    std::vector<std::int64_t> delays_;
};

/// Perf events if they are allowed and wanted; nothing: readings.
Result<std::optional<NodeEvents>> open_events(ObservedNode& node, const ProfileOptions& options,
                                              ProfileReport& report) {
    if (options.readings) {
        return std::nullopt;
    }
    if (!node.vm().facts().jit) {
        report.remarks.emplace_back(
            "the emulator is the interpreter, whose samples do not show what Erlang code runs");
        return std::nullopt;
    }
    auto events = NodeEvents::open(report.pid, report.period_ns());
    if (events) {
        return std::optional(std::move(*events));
    }
    const auto code = events.error().code;
    if (code == ErrorCode::kPermission || code == ErrorCode::kUnsupported) {
        report.remarks.push_back(events.error().message);
        return std::nullopt;
    }
    return std::unexpected(events.error());
}

}  // namespace

Result<ProfileReport> collect_profile(ObservedNode& node, const ProfileOptions& options,
                                      const std::atomic<bool>& cancelled) {
    ProfileReport report{.node = node.name(),
                         .otp_release = node.vm().facts().otp_release,
                         .pid = node.vm().target().pid(),
                         .rate = options.rate,
                         .profile = Profile(options.by)};
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, options.frames));
    ASSIGN_OR_RETURN(auto threads, NodeThreads::open(node, stacks));
    ASSIGN_OR_RETURN(auto samples, SampleStacks::open(node, stacks, threads, options.frames));
    ASSIGN_OR_RETURN(auto events, open_events(node, options, report));
    report.readings = !events;
    report.began_us = target::clock_ns(CLOCK_REALTIME) / 1000;
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    Collector collector(samples, threads, options, cancelled, report);
    const auto outcome = events ? collector.sample(*events) : collector.read(options.rate);
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    if (!outcome) {
        // What was sampled until the node ended stands.
        if (outcome.error().code != ErrorCode::kTargetDied || report.profile.samples() == 0) {
            return std::unexpected(outcome.error());
        }
        report.cut_short = true;
        report.remarks.push_back(outcome.error().message);
    }
    return report;
}

}  // namespace beamdump::sampler
