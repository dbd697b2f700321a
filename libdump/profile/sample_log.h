#pragma once

#include <libdump/profile/samples.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump {

/// Different values, numbered from 0 on in the order of their coming.
template <typename Value>
class Numbered {
  public:
    std::uint32_t number(const Value& value) {
        const auto [known, fresh] =
            numbers_.emplace(value, static_cast<std::uint32_t>(values_.size()));
        if (fresh) {
            values_.push_back(value);
        }
        return known->second;
    }
    [[nodiscard]] const std::vector<Value>& values() const { return values_; }

  private:
    std::map<Value, std::uint32_t> numbers_;
    std::vector<Value> values_;
};

/// Samples as they were taken, equal ones counted, so that they can be grouped later by process,
/// name, initial call, scheduler or thread. Memory: bounded by kMostBytes.
class SampleLog {
  public:
    /// The bound of what is kept, about. A capture that has samples stays below that of others.
    static constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 20U;
    /// The bound of a name, which ends there, and of a sample's native and Erlang functions: no
    /// sampler has more.
    static constexpr std::size_t kMostNameBytes = 8192;
    static constexpr std::size_t kMostFrames = 1024;

    struct Process {
        std::uint64_t owner_id = 0;
        std::optional<std::uint32_t> registered_atom{};
        std::optional<FunctionAtoms> initial_call{};
        auto operator<=>(const Process&) const = default;
    };
    struct Thread {
        pid_t id = 0;
        std::string name{};
        std::optional<std::string> scheduler{};
        auto operator<=>(const Thread&) const = default;
    };
    /// One or more equal samples; numbers are those of names(), processes() and threads().
    struct Sample {
        SampleKind kind = SampleKind::kOtherThread;
        UnknownCallers unknown = UnknownCallers::kNone;
        bool more = false;
        std::optional<std::uint32_t> fragment{};
        std::optional<std::uint32_t> process{};
        std::uint32_t thread = 0;
        std::vector<std::uint32_t> native{};     ///< the innermost first
        std::vector<std::uint32_t> functions{};  ///< the innermost first
        auto operator<=>(const Sample&) const = default;
    };

    /// Counts a sample; from kMostBytes on none, so that what is kept is a time, not a choice.
    void add(const SampleStack& sample, const SampledThread& thread);

    /// Finds the atoms of those names that are of Erlang functions: what a redaction hides of atoms
    /// it hides of these too. To be called when all samples are there.
    void name_functions(
        const std::function<std::optional<FunctionAtoms>(const std::string&)>& named);

    [[nodiscard]] const std::vector<std::string>& names() const { return names_.values(); }
    /// The function of each name, since name_functions(); nothing: it is of native or shared code.
    [[nodiscard]] const std::vector<std::optional<FunctionAtoms>>& functions() const {
        return functions_;
    }
    [[nodiscard]] const std::vector<Process>& processes() const { return processes_.values(); }
    [[nodiscard]] const std::vector<Thread>& threads() const { return threads_.values(); }
    [[nodiscard]] const std::map<Sample, std::uint64_t>& samples() const { return samples_; }
    /// Samples that are counted in samples().
    [[nodiscard]] std::uint64_t kept() const { return kept_; }
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  private:
    Numbered<std::string> names_;
    std::vector<std::optional<FunctionAtoms>> functions_;
    Numbered<Process> processes_;
    Numbered<Thread> threads_;
    std::map<Sample, std::uint64_t> samples_;
    std::uint64_t bytes_ = 0;
    std::uint64_t kept_ = 0;
    std::uint64_t left_out_ = 0;
};

}  // namespace beamdump
