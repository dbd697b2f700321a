#pragma once

#include <libdump/profile/native_filter.h>
#include <libdump/profile/samples.h>
#include <libdump/profile/stack_tree.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beamdump {

/// What samples are grouped by.
enum class SamplesBy : std::uint8_t { kNone, kProcess, kName, kInitialCall, kScheduler, kThread };

/// "process", "name", "initial_call", "scheduler" or "thread". kUsage.
Result<SamplesBy> parse_samples_by(std::string_view name);

/// What a process is counted as by kProcess, kName or kInitialCall.
std::string process_group(SamplesBy by, const ProcessIdentity& process);

/// Samples of one function.
struct FunctionCount {
    std::uint64_t total = 0;   ///< in it or in what it called
    std::uint64_t self = 0;    ///< in it or in native code that it called
    std::uint64_t native = 0;  ///< of self: in native code
};

/// Samples of one native function.
struct NativeCount {
    std::uint64_t total = 0;
    std::uint64_t self = 0;
};

using FunctionCounts = std::unordered_map<std::string, FunctionCount>;

struct GroupCount {
    std::uint64_t samples = 0;
    FunctionCounts functions{};
};

/// Counts samples by function, stack, thread and group. Memory: bounded by kMostBytes.
class Profile {
  public:
    /// `only`: native code; other samples are counted in all_samples() alone.
    explicit Profile(SamplesBy by, std::optional<NativeFilter> only = std::nullopt)
        : by_(by), only_(std::move(only)) {}

    /// Adds equal samples, `weight` of them. False: it has become too large, and nothing more may
    /// be added.
    bool add(const SampleStack& sample, const SampledThread& thread, std::uint64_t weight = 1);

    [[nodiscard]] SamplesBy by() const { return by_; }
    [[nodiscard]] const std::optional<NativeFilter>& only() const { return only_; }
    [[nodiscard]] std::uint64_t all_samples() const { return all_samples_; }
    /// The samples that only() left out: in native code some of which has no name in its file.
    [[nodiscard]] std::uint64_t unnamed() const { return unnamed_; }
    [[nodiscard]] std::uint64_t samples() const { return stacks_.total(); }
    [[nodiscard]] const StackTree& stacks() const { return stacks_; }
    [[nodiscard]] const FunctionCounts& functions() const { return functions_; }
    [[nodiscard]] const std::unordered_map<std::string, NativeCount>& native() const {
        return native_;
    }
    [[nodiscard]] const std::map<std::string, GroupCount>& groups() const { return groups_; }
    /// Samples of threads that run no processes, by thread name.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& other_threads() const {
        return other_threads_;
    }
    [[nodiscard]] const std::map<SampleKind, std::uint64_t>& kinds() const { return kinds_; }
    [[nodiscard]] const std::map<UnknownCallers, std::uint64_t>& unknown() const {
        return unknown_;
    }
    /// Samples of processes that had ended when they were to be named.
    [[nodiscard]] std::uint64_t ended() const { return ended_; }

  private:
    [[nodiscard]] std::string group_of(const SampleStack& sample,
                                       const SampledThread& thread) const;
    static void count_functions(const SampleStack& sample, std::uint64_t weight,
                                FunctionCounts& counts);
    void count_native(const SampleStack& sample, std::uint64_t weight);

    SamplesBy by_;
    std::optional<NativeFilter> only_;
    std::uint64_t all_samples_ = 0;
    std::uint64_t unnamed_ = 0;
    StackTree stacks_;
    FunctionCounts functions_;
    std::unordered_map<std::string, NativeCount> native_;
    std::map<std::string, GroupCount> groups_;
    std::map<std::string, std::uint64_t> other_threads_;
    std::map<SampleKind, std::uint64_t> kinds_;
    std::map<UnknownCallers, std::uint64_t> unknown_;
    std::uint64_t ended_ = 0;
};

}  // namespace beamdump
