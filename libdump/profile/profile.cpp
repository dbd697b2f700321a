#include <libdump/format/owner_id.h>
#include <libdump/profile/profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>
#include <vector>

namespace beamdump {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kMostGroups = 65536;
constexpr std::string_view kFurtherGroups = "(further ones)";

constexpr std::array<std::pair<std::string_view, SamplesBy>, 5> kGroupings = {
    {{"process", SamplesBy::kProcess},
     {"name", SamplesBy::kName},
     {"initial_call", SamplesBy::kInitialCall},
     {"scheduler", SamplesBy::kScheduler},
     {"thread", SamplesBy::kThread}}};

/// Samples without a process: what a group by a property of processes calls them.
std::string without_process(const SampleStack& sample, const SampledThread& thread) {
    switch (sample.kind) {
        case SampleKind::kOtherThread:
            return fmt::format("[thread {}]", thread.name);
        case SampleKind::kEmulator:
            return "[emulator]";
        default:
            return "[process not known]";
    }
}

}  // namespace

bool has_no_name(const std::string& name) {
    return name.find("+0x") != std::string::npos || name == kOutsideFiles;
}

Result<SamplesBy> parse_samples_by(std::string_view name) {
    const auto* known =
        std::ranges::find(kGroupings, name, &decltype(kGroupings)::value_type::first);
    if (known == kGroupings.end()) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("--by {}: it is process, name, initial_call, scheduler or thread", name));
    }
    return known->second;
}

std::string process_group(SamplesBy by, const ProcessIdentity& process) {
    switch (by) {
        case SamplesBy::kName:
            return process.registered.value_or("(not registered)");
        case SamplesBy::kInitialCall:
            return process.initial_call.value_or("(not known)");
        default: {
            const auto& call = process.registered ? process.registered : process.initial_call;
            return call ? fmt::format("{} {}", pid_text(process.owner_id), *call)
                        : pid_text(process.owner_id);
        }
    }
}

std::string Profile::group_of(const SampleStack& sample, const SampledThread& thread) const {
    if (by_ == SamplesBy::kThread) {
        return fmt::format("{} ({})", thread.name, thread.id);
    }
    if (by_ == SamplesBy::kScheduler) {
        return thread.scheduler.value_or(fmt::format("[thread {}]", thread.name));
    }
    if (!sample.process) {
        return without_process(sample, thread);
    }
    return process_group(by_, *sample.process);
}

void Profile::count_functions(const SampleStack& sample, std::uint64_t weight,
                              FunctionCounts& counts) {
    if (sample.frames.empty()) {
        return;
    }
    auto& innermost = counts[sample.frames.front()];
    innermost.self += weight;
    innermost.native += sample.native.empty() ? 0 : weight;
    // A function that is there twice counts once.
    std::unordered_set<std::string_view> seen;
    for (const auto& function : sample.frames) {
        if (seen.insert(function).second) {
            counts[function].total += weight;
        }
    }
}

void Profile::count_native(const SampleStack& sample, std::uint64_t weight) {
    if (sample.native.empty()) {
        return;
    }
    native_[sample.native.front()].self += weight;
    std::unordered_set<std::string_view> seen;
    for (const auto& function : sample.native) {
        if (seen.insert(function).second) {
            native_[function].total += weight;
        }
    }
}

bool Profile::add(const SampleStack& sample, const SampledThread& thread, std::uint64_t weight) {
    all_samples_ += weight;
    if (only_ && !only_->matches(sample)) {
        unnamed_ += std::ranges::any_of(sample.native, has_no_name) ? weight : 0;
        return true;
    }
    kinds_[sample.kind] += weight;
    if (sample.unknown != UnknownCallers::kNone) {
        unknown_[sample.unknown] += weight;
    }
    const bool of_process =
        sample.kind != SampleKind::kOtherThread && sample.kind != SampleKind::kEmulator;
    ended_ += of_process && !sample.process ? weight : 0;
    if (sample.kind == SampleKind::kOtherThread) {
        other_threads_[thread.name] += weight;
    }
    count_functions(sample, weight, functions_);
    count_native(sample, weight);

    std::vector<std::uint32_t> places;
    const auto take = [&](std::string_view function) {
        places.push_back(stacks_.place({.function = std::string(function)}));
    };
    std::ranges::for_each(sample.native, take);
    std::ranges::for_each(sample.frames, take);
    if (of_process && !sample.callers_known()) {
        take(sample.more ? kFurtherCallers : kCallersNotKnown);
    } else if (!of_process) {
        take(without_process(sample, thread));
    }
    if (by_ != SamplesBy::kNone) {
        auto group = group_of(sample, thread);
        if (groups_.size() >= kMostGroups && !groups_.contains(group)) {
            group = kFurtherGroups;
        }
        auto& counted = groups_[group];
        counted.samples += weight;
        count_functions(sample, weight, counted.functions);
        take(group);
    }
    stacks_.add(places, weight);
    return stacks_.bytes() < kMostBytes;
}

}  // namespace beamdump
