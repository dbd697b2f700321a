#pragma once

#include "calls/measured_calls.h"

#include <libsample/node/observed_node.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::sampler {

struct FunctionCallsOptions {
    std::vector<std::string> functions{};  ///< module:function/arity; at most kMostBreakpoints
    std::chrono::milliseconds duration{10'000};
};

/// Calls of one function by what they return to.
struct CallerOfFunction {
    std::string function{};
    double calls = 0;  ///< in the whole time, estimated as those of the function
    std::uint64_t samples = 0;
    std::optional<WordsOfCall> words{};
};

/// What is known of the calls of one function.
struct CalledFunction {
    std::string name{};
    std::uint64_t counted = 0;  ///< calls while breakpoints were set: all of them
    double calls = 0;           ///< in the whole time, by that
    double calls_error = 0;     ///< half of the 95% interval
    std::optional<WordsOfCall>
        words{};                  ///< with all that the calls call; nothing: none was measured
    std::uint64_t measured = 0;   ///< calls whose words are known
    std::uint64_t collected = 0;  ///< not known, as the heap was collected meanwhile
    std::uint64_t not_ended = 0;  ///< nor of these: they were not seen to end
    std::vector<CallerOfFunction> callers{};  ///< most calls first
};

struct FunctionCallsReport {
    std::string node{};
    std::string otp_release{};
    pid_t pid = 0;
    std::int64_t began_us = 0;  ///< since the epoch
    std::int64_t took_ns = 0;
    std::uint64_t windows = 0;  ///< in which calls were counted
    std::int64_t set_ns = 0;    ///< how long breakpoints were set in them, in all
    /// The part of the busiest thread's time in these windows that breakpoints took.
    double slowed = 0;
    std::vector<CalledFunction> functions{};
    std::uint64_t held_back = 0;  ///< how often the kernel held them back: there were more calls
    std::uint64_t lost = 0;       ///< samples that the kernel dropped
    std::map<std::string, std::uint64_t> not_sampled{};  ///< threads, by reason
    std::vector<std::string> remarks{};
    bool cut_short = false;

    /// The node made calls more slowly while they were counted: it makes more at other times.
    [[nodiscard]] bool calls_are_least() const;
    [[nodiscard]] bool complete() const { return !cut_short && not_sampled.empty(); }
};

/// Counts the calls of functions by breakpoints of the processor in short windows, finds their
/// callers by samples of these calls, and in other windows the words that they build on the heap.
/// Nothing of the node is stopped or changed. Memory: bounded. kUsage: a text is no function, or
/// there are too many. kNotFound, kUnsupported: as find_loaded_function(). kLimit, kUnsupported: no
/// breakpoints are left, or there are none.
Result<FunctionCallsReport> collect_function_calls(ObservedNode& node,
                                                   const FunctionCallsOptions& options,
                                                   const std::atomic<bool>& cancelled);

/// Whether the functions can be asked for: kUsage, if a text is no function, one is there twice, or
/// there are more than kMostBreakpoints.
Result<void> check_functions(const std::vector<std::string>& functions);

}  // namespace beamdump::sampler
