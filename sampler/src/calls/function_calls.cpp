#include "calls/function_calls.h"

#include "calls/word_windows.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libsample/events/thread_event.h>
#include <libsample/profile/call_windows.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unistd.h>

namespace beamdump::sampler {
namespace {

constexpr int kCalls = 200;
constexpr int kRounds = 5;
constexpr std::uint64_t kNoSamples = std::uint64_t{1} << 40U;

/// Is called, and does nothing that could be left out.
[[gnu::noinline]] void counted_call() {
    asm volatile("");
}

/// The time that a thread of this machine takes for a call that is counted by a breakpoint:
/// measured on a function of this program. Errors as ThreadEvent::open().
Result<std::chrono::nanoseconds> breakpoint_cost() {
    ASSIGN_OR_RETURN(auto event,
                     ThreadEvent::open(
                         ::gettid(), {.period = kNoSamples,
                                      .breakpoint = reinterpret_cast<std::uintptr_t>(&counted_call),
                                      .off = true,
                                      .wakes = false,
                                      .stack_bytes = 8,
                                      .ring_pages = 1}));
    // The least of a few rounds: others may have been interrupted.
    auto least = std::chrono::nanoseconds::max();
    RETURN_IF_ERROR(event.switch_on());
    for (int round = 0; round < kRounds; ++round) {
        const auto began = std::chrono::steady_clock::now();
        for (int call = 0; call < kCalls; ++call) {
            counted_call();
        }
        least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - began);
    }
    RETURN_IF_ERROR(event.switch_off());
    return least / kCalls;
}

using Clock = std::chrono::steady_clock;

/// Calls are counted for half a second, then words measured for half a second: the processor has
/// not breakpoints enough for both.
constexpr int kWindowsOfATurn = 5;
/// From this part of a thread's time on, counted calls are said to be the least.
constexpr double kSlowed = 0.05;
constexpr std::uint32_t kStackTopBytes = 8;
constexpr std::string_view kFirstFunction = "(first function of a process)";
constexpr std::string_view kElsewhere = "(not in a module's code)";

class CallCollector {
  public:
    CallCollector(ObservedNode& node, std::vector<LoadedFunction> functions, CallWindows windows,
                  std::optional<WordWindows> words, std::chrono::nanoseconds cost,
                  const std::atomic<bool>& cancelled, FunctionCallsReport& report)
        : node_(node),
          functions_(std::move(functions)),
          windows_(std::move(windows)),
          word_windows_(std::move(words)),
          cost_(cost),
          cancelled_(cancelled),
          report_(report),
          counts_(functions_.size()),
          words_(functions_.size()) {}

    Result<void> run(Clock::time_point end) {
        while (going_on(end)) {
            for (int turn = 0; turn < kWindowsOfATurn && going_on(end); ++turn) {
                RETURN_IF_ERROR(count(end));
            }
            if (!word_windows_ || !next_place()) {
                continue;
            }
            RETURN_IF_ERROR(windows_.close());
            for (int turn = 0; turn < kWindowsOfATurn && going_on(end); ++turn) {
                const auto place = next_place();
                RETURN_IF_ERROR(word_windows_->next(functions_[place->function], place->returns_to,
                                                    words_[place->function], end));
                ++tried_[*place];
            }
        }
        report_.set_ns = windows_.set_for().count();
        report_.held_back = windows_.held_back();
        report_.lost = windows_.lost();
        report_.not_sampled = windows_.not_sampled();
        return {};
    }

    /// What was found; `seconds`: the whole time.
    void tell(double seconds) {
        report_.slowed = report_.windows == 0 ? 0 : slowed_ / static_cast<double>(report_.windows);
        for (std::size_t at = 0; at < functions_.size(); ++at) {
            report_.functions.push_back(told(at, seconds));
        }
    }

  private:
    /// What is measured in one window.
    struct Place {
        std::size_t function = 0;
        std::uint64_t returns_to = 0;
        auto operator<=>(const Place&) const = default;
    };

    [[nodiscard]] bool going_on(Clock::time_point end) const {
        return Clock::now() < end && !cancelled_;
    }

    Result<void> count(Clock::time_point end) {
        std::vector<std::vector<std::uint64_t>> returns_to(functions_.size());
        ASSIGN_OR_RETURN(const auto window,
                         windows_.next(end,
                                       [&](std::size_t function, const Sample& sample,
                                           const std::string&) -> Result<void> {
                                           std::uint64_t top = 0;
                                           if (sample.stack.size() >= sizeof(top)) {
                                               std::memcpy(&top, sample.stack.data(), sizeof(top));
                                               returns_to[function].push_back(top);
                                           }
                                           return {};
                                       }));
        const auto seconds = std::chrono::duration<double>(window.set).count();
        for (std::size_t at = 0; at < functions_.size(); ++at) {
            counts_[at].add_window(seconds, window.calls[at], returns_to[at]);
        }
        slowed_ += std::min(1.0, static_cast<double>(window.most_calls_of_thread) *
                                     std::chrono::duration<double>(cost_).count() / seconds);
        ++report_.windows;
        return {};
    }

    /// The place with the most calls for each window that was spent on it: each place has its part
    /// of the windows, and functions equal parts. Nothing: no call was sampled.
    std::optional<Place> next_place() {
        std::optional<Place> next;
        double most = 0;
        for (std::size_t step = 1; step <= functions_.size() && !next; ++step) {
            const auto function = (last_ + step) % functions_.size();
            for (const auto& [returns_to, place] : counts_[function].places()) {
                const auto known = tried_.find({function, returns_to});
                const auto value = place.weight / (known == tried_.end() ? 1 : 1 + known->second);
                if (value > most && node_.code().in_code(returns_to)) {
                    most = value;
                    next = Place{function, returns_to};
                }
            }
        }
        last_ = next ? next->function : last_;
        return next;
    }

    std::string caller(std::uint64_t returns_to) {
        if (returns_to == node_.shared().normal_exit()) {
            return std::string(kFirstFunction);
        }
        // Minus one: a call may be the last instruction of its function.
        return node_.place_at(returns_to - 1).value_or(std::string(kElsewhere));
    }

    CalledFunction told(std::size_t at, double seconds) {
        const auto& counts = counts_[at];
        CalledFunction function{.name = functions_[at].name,
                                .counted = counts.rate().counted(),
                                .calls = counts.rate().a_second() * seconds,
                                .calls_error = counts.rate().error() * seconds};
        const auto& measured = words_[at].measured();
        for (const auto& [place, calls] : measured) {
            function.measured += calls.calls;
            function.collected += calls.collected;
            function.not_ended += calls.not_ended;
        }
        std::map<std::string, std::map<std::uint64_t, ReturnPlace>> by_caller;
        std::map<std::string, CallerOfFunction> callers;
        double all = 0;
        for (const auto& [returns_to, place] : counts.places()) {
            all += place.weight;
            auto name = caller(returns_to);
            by_caller[name][returns_to] = place;
            callers[name].samples += place.samples;
            callers[name].calls += place.weight;
        }
        function.words = words_of_call(measured, counts.places());
        for (auto& [name, of_caller] : callers) {
            of_caller.function = name;
            of_caller.calls *= all > 0 ? function.calls / all : 0;
            of_caller.words = words_of_call(measured, by_caller[name]);
            function.callers.push_back(std::move(of_caller));
        }
        std::ranges::stable_sort(function.callers, std::greater(), &CallerOfFunction::calls);
        return function;
    }

    ObservedNode& node_;
    std::vector<LoadedFunction> functions_;
    CallWindows windows_;
    std::optional<WordWindows> word_windows_;
    std::chrono::nanoseconds cost_;
    const std::atomic<bool>& cancelled_;
    FunctionCallsReport& report_;
    std::vector<CallCounts> counts_;
    std::vector<CallWords> words_;
    std::map<Place, int> tried_;  // windows
    std::size_t last_ = 0;        // the function that was measured last
    double slowed_ = 0;
};

Result<std::vector<LoadedFunction>> find_all(ObservedNode& node,
                                             const std::vector<std::string>& texts,
                                             FunctionCallsReport& report) {
    std::vector<LoadedFunction> functions;
    for (const auto& text : texts) {
        ASSIGN_OR_RETURN(auto function, find_loaded_function(node, text));
        if (function.has_old_code) {
            report.remarks.push_back(fmt::format(
                "{}: calls of the module's old code are not counted", one_line(function.name)));
        }
        if (function.may_be_bif) {
            report.remarks.push_back(fmt::format(
                "{}: the layout does not say whether it is a BIF, whose calls would not "
                "be counted",
                one_line(function.name)));
        }
        functions.push_back(std::move(function));
    }
    return functions;
}

/// Functions whose module was loaded again meanwhile: its code is elsewhere.
void tell_replaced(ObservedNode& node, const std::vector<LoadedFunction>& functions,
                   FunctionCallsReport& report) {
    if (!node.refresh_code()) {
        return;
    }
    for (const auto& function : functions) {
        const auto now = find_loaded_function(node, function.name);
        if (!now || now->entry != function.entry) {
            report.cut_short = true;
            report.remarks.push_back(
                fmt::format("{}: its module was loaded again meanwhile, and calls of the new code "
                            "are not counted",
                            one_line(function.name)));
        }
    }
}

}  // namespace

bool FunctionCallsReport::calls_are_least() const {
    return slowed >= kSlowed || held_back != 0;
}

Result<void> check_functions(const std::vector<std::string>& functions) {
    if (functions.size() > kMostBreakpoints) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--function: the processor has breakpoints for {} functions, not "
                                "for {}",
                                kMostBreakpoints, functions.size()));
    }
    std::set<std::string> known;
    for (const auto& function : functions) {
        if (!is_function_text(function)) {
            return fail(
                ErrorCode::kUsage,
                fmt::format("--function: {} is not module:function/arity", one_line(function)));
        }
        if (!known.insert(function).second) {
            return fail(ErrorCode::kUsage,
                        fmt::format("--function: {} is there twice", one_line(function)));
        }
    }
    return {};
}

Result<FunctionCallsReport> collect_function_calls(ObservedNode& node,
                                                   const FunctionCallsOptions& options,
                                                   const std::atomic<bool>& cancelled) {
    FunctionCallsReport report{.node = node.name(),
                               .otp_release = node.vm().facts().otp_release,
                               .pid = node.vm().target().pid()};
    RETURN_IF_ERROR(check_functions(options.functions));
    RETURN_IF_ERROR(node.check_machine_code());
    RETURN_IF_ERROR(node.check_samples());
    if (node.doubt()) {
        report.remarks.push_back(*node.doubt());
    }
    ASSIGN_OR_RETURN(auto functions, find_all(node, options.functions, report));
    ASSIGN_OR_RETURN(auto stacks, ProcessStacks::open(node, 1));
    ASSIGN_OR_RETURN(auto threads, NodeThreads::open(node, stacks));
    std::vector<target::NamedFunction> entries;
    std::ranges::transform(functions, std::back_inserter(entries), [](const auto& function) {
        return target::NamedFunction{function.name, function.entry};
    });
    ASSIGN_OR_RETURN(const auto cost, breakpoint_cost());
    ASSIGN_OR_RETURN(auto windows, CallWindows::open(report.pid, entries,
                                                     {.schedulers_only = true,
                                                      .scheduler_stack_bytes = kStackTopBytes}));
    auto words = WordWindows::open(node, threads);
    if (!words) {
        report.remarks.emplace_back(
            "words of calls are not known: the layout does not say where schedulers count "
            "collections");
    }
    CallCollector collector(node, functions, std::move(windows), std::move(words), cost, cancelled,
                            report);
    report.began_us = target::clock_ns(CLOCK_REALTIME) / 1000;
    const auto began = target::clock_ns(CLOCK_MONOTONIC);
    const auto outcome = collector.run(Clock::now() + options.duration);
    report.took_ns = target::clock_ns(CLOCK_MONOTONIC) - began;
    if (!outcome) {
        // What was counted until the node ended stands.
        if (outcome.error().code != ErrorCode::kTargetDied || report.windows == 0) {
            return std::unexpected(outcome.error());
        }
        report.cut_short = true;
        report.remarks.push_back(outcome.error().message);
    } else {
        tell_replaced(node, functions, report);
    }
    collector.tell(static_cast<double>(report.took_ns) / 1e9);
    return report;
}

}  // namespace beamdump::sampler
