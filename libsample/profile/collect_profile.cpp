#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libsample/native/thread_stops.h>
#include <libsample/profile/call_windows.h>
#include <libsample/profile/collect_profile.h>
#include <libsample/profile/node_events.h>
#include <libsample/profile/sample_collector.h>
#include <libsample/profile/sample_stacks.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <ranges>
#include <thread>

namespace beamdump::sampler {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{100};
constexpr std::chrono::milliseconds kBetweenThreadLists{100};

class Collector {
  public:
    Collector(SampleStacks& stacks, NodeThreads& threads, const ProfileOptions& options,
              const std::atomic<bool>& cancelled, ProfileReport& report)
        : stacks_(stacks),
          threads_(threads),
          collector_(stacks, threads, report),
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
            RETURN_IF_ERROR(collector_.take(events));
            if (Clock::now() - threads_listed >= kBetweenThreadLists) {
                threads_listed = Clock::now();
                RETURN_IF_ERROR(events.refresh());
            }
        }
        RETURN_IF_ERROR(collector_.take(events));
        collector_.tell_delays();
        report_.lost = events.lost();
        report_.not_sampled = events.not_sampled();
        report_.kernel_seen = events.kernel_seen();
        return {};
    }

    Result<void> sample(ThreadStops& threads) {
        const auto outcome = stop_repeatedly(threads);
        collector_.tell_delays();
        report_.kernel_seen = false;
        report_.lost = threads.lost();
        report_.stops = threads.stops();
        if (threads.not_stopped() != 0) {
            report_.not_sampled["they did not stop in time, as no processor was free for them"] =
                threads.not_stopped();
        }
        return outcome;
    }

    Result<void> count(CallWindows& windows) {
        CallRate rate;
        while (going_on()) {
            ASSIGN_OR_RETURN(const auto window,
                             windows.next(end_, [this](std::size_t, const Sample& sample,
                                                       const std::string& name) {
                                 return collector_.take(sample, name);
                             }));
            rate.add_window(std::chrono::duration<double>(window.set).count(),
                            std::reduce(window.calls.begin(), window.calls.end()));
        }
        collector_.tell_delays();
        report_.calls->a_second = rate.a_second();
        report_.calls->a_second_error = rate.error();
        ASSIGN_OR_RETURN(report_.calls->counted, windows.counted());
        report_.calls->set_ns = windows.set_for().count();
        report_.calls->held_back = windows.held_back();
        report_.lost = windows.lost();
        report_.not_sampled = windows.not_sampled();
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
                collector_.add(*found, {.scheduler = scheduler_text(&scheduler)});
            }
            // A reading that was too late is left out, not made up for.
            next = std::max(next + period, Clock::now());
            std::this_thread::sleep_until(std::min(next, end_));
        }
        return {};
    }

  private:
    Result<void> stop_repeatedly(ThreadStops& threads) {
        std::minstd_rand random{std::random_device{}()};
        // Work that repeats with exactly that period would always be seen in the same phase.
        const auto period = static_cast<std::int64_t>(report_.period_ns());
        std::uniform_int_distribution<std::int64_t> pause(period / 2, period + period / 2);
        auto next = Clock::now();
        while (going_on()) {
            const auto begin = Clock::now();
            RETURN_IF_ERROR(threads.take([this](const Sample& sample, const std::string& name,
                                                const std::function<bool()>& ended) {
                return collector_.take_stopped(sample, name, ended);
            }));
            stacks_.catch_up();
            // The node comes first: where the machine is busy, a stop takes longer.
            constexpr int kPartForStops = 4;
            const auto now = Clock::now();
            next = std::max(next + std::chrono::nanoseconds(pause(random)),
                            now + kPartForStops * (now - begin));
            std::this_thread::sleep_until(std::min(next, end_));
        }
        return {};
    }

    [[nodiscard]] bool going_on() const {
        return Clock::now() < end_ && !cancelled_ && !report_.cut_short;
    }

    SampleStacks& stacks_;
    NodeThreads& threads_;
    SampleCollector collector_;
    const std::atomic<bool>& cancelled_;
    ProfileReport& report_;
    Clock::time_point end_;
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
    auto events =
        NodeEvents::open(report.pid, {.period = report.period_ns(), .random_period = true});
    if (events) {
        return std::optional(std::move(*events));
    }
    const auto code = events.error().code;
    if (code == ErrorCode::kPermission || code == ErrorCode::kUnsupported) {
        report.remarks.push_back(fmt::format(
            "{} (--stops needs none: it stops threads for a moment)", events.error().message));
        return std::nullopt;
    }
    return std::unexpected(events.error());
}

/// The functions of a name, at most one more than there are breakpoints. A BIF's is the emulator's.
Result<std::vector<target::NamedFunction>> named_functions(SampleStacks& stacks,
                                                           const NativeFilter& wanted) {
    constexpr auto kMost = kMostBreakpoints + 1;
    auto functions = stacks.functions(wanted, kMost);
    for (const auto& name : native_names_of_bif(wanted.text())) {
        if (functions.empty()) {
            ASSIGN_OR_RETURN(const auto native, NativeFilter::parse(name));
            functions = stacks.functions(native, kMost);
        }
    }
    return functions;
}

/// Why there is no function of a name.
Result<std::string> why_unknown(SampleStacks& stacks, const NativeFilter& wanted) {
    // Each emulator has this function, and no file exports it: its name is a symbol.
    ASSIGN_OR_RETURN(const auto of_every_emulator, NativeFilter::parse("erts_schedule"));
    if (stacks.functions(of_every_emulator, 1).empty()) {
        return fmt::format(
            "no function named {} is known: the emulator's file has no names of its own functions; "
            "install its debug file, or name a fragment of the JIT such as <garbage_collect>",
            wanted.text());
    }
    constexpr std::size_t kMostNames = 200'000;
    ASSIGN_OR_RETURN(const auto any, NativeFilter::parse("*"));
    const auto names = native_names_of_bif(wanted.text());
    Nearest nearest(names.empty() ? wanted.text() : names.front());
    for (const auto& function : stacks.functions(any, kMostNames)) {
        nearest.add(function.name);
    }
    const auto meant =
        nearest.best().empty() ? std::string() : fmt::format("; did you mean {}?", nearest.best());
    return names.empty()
               ? fmt::format("no function named {} is in the emulator{}", wanted.text(), meant)
               : fmt::format(
                     "no BIF {} is in the emulator (calls of Erlang code are counted by "
                     "alloc --function){}",
                     wanted.text(), meant);
}

/// Breakpoints at the functions whose calls are asked for.
Result<CallWindows> open_windows(SampleStacks& stacks, const NativeFilter& wanted,
                                 ProfileReport& report) {
    ASSIGN_OR_RETURN(const auto functions, named_functions(stacks, wanted));
    if (functions.empty()) {
        ASSIGN_OR_RETURN(auto why, why_unknown(stacks, wanted));
        return fail(ErrorCode::kNotFound, std::move(why));
    }
    if (functions.size() > kMostBreakpoints) {
        std::vector<std::string> names;
        std::ranges::transform(functions, std::back_inserter(names), &target::NamedFunction::name);
        return fail(ErrorCode::kUsage,
                    fmt::format("more than {} functions are named {}, and there are no more "
                                "breakpoints: {}, ...",
                                kMostBreakpoints, wanted.text(), fmt::join(names, ", ")));
    }
    report.calls.emplace();
    std::ranges::transform(functions, std::back_inserter(report.calls->functions),
                           &target::NamedFunction::name);
    return CallWindows::open(report.pid, functions);
}

/// The samples of one run, as far as they came.
Result<void> collect(ObservedNode& node, SampleStacks& samples, Collector& collector,
                     const ProfileOptions& options, ProfileReport& report) {
    if (options.only && !node.vm().facts().jit) {
        return fail(ErrorCode::kUnsupported,
                    "the emulator is the interpreter, whose callers of native code are not seen");
    }
    if (options.exact && options.only) {
        ASSIGN_OR_RETURN(auto windows, open_windows(samples, *options.only, report));
        return collector.count(windows);
    }
    if (options.stops != nullptr) {
        if (!node.vm().facts().jit) {
            return fail(ErrorCode::kUnsupported,
                        "the emulator is the interpreter, whose registers do not show what Erlang "
                        "code runs: use --readings");
        }
        ThreadStops threads(report.pid, std::chrono::nanoseconds(report.period_ns()),
                            node.vm().bulk(), *options.stops);
        return collector.sample(threads);
    }
    ASSIGN_OR_RETURN(auto events, open_events(node, options, report));
    report.readings = !events;
    if (options.only && !events) {
        auto why = report.remarks.back();
        report.remarks.pop_back();
        return fail(ErrorCode::kPermission,
                    fmt::format("native code is seen in samples alone, and {}", why));
    }
    return events ? collector.sample(*events) : collector.read(options.rate);
}

}  // namespace

Result<ProfileReport> collect_profile(ObservedNode& node, const ProfileOptions& options,
                                      const std::atomic<bool>& cancelled) {
    ProfileReport report{
        .node = node.name(),
        .otp_release = node.vm().facts().otp_release,
        .pid = node.vm().target().pid(),
        .rate = options.rate,
        .profile = Profile(options.by, options.exact ? std::nullopt : options.only)};
    if (options.keep) {
        node.keep_functions();
        report.log.emplace();
    }
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    RETURN_IF_ERROR(node.check_samples());
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, options.frames));
    ASSIGN_OR_RETURN(auto threads, NodeThreads::open(node, stacks));
    ASSIGN_OR_RETURN(auto samples, SampleStacks::open(node, stacks, threads, options.frames));
    report.began_us = target::clock_ns(CLOCK_REALTIME) / 1000;
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    Collector collector(samples, threads, options, cancelled, report);
    const auto outcome = collect(node, samples, collector, options, report);
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    if (report.log) {
        name_functions(node, *report.log);
    }
    if (!outcome) {
        // What was sampled until the node ended stands.
        if (outcome.error().code != ErrorCode::kTargetDied ||
            (report.profile.samples() == 0 && (!report.log || report.log->kept() == 0))) {
            return std::unexpected(outcome.error());
        }
        report.cut_short = true;
        report.remarks.push_back(outcome.error().message);
    }
    return report;
}

}  // namespace beamdump::sampler
