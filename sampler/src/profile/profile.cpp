#include "profile/profile.h"

#include "profile/native_frames.h"

#include <libdump/format/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>
#include <vector>

namespace beamdump::sampler {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;
constexpr std::size_t kMostGroups = 65536;
constexpr std::string_view kFurtherGroups = "(further ones)";

constexpr std::array<std::pair<std::string_view, GroupBy>, 5> kGroupings = {
    {{"process", GroupBy::kProcess},
     {"name", GroupBy::kName},
     {"initial_call", GroupBy::kInitialCall},
     {"scheduler", GroupBy::kScheduler},
     {"thread", GroupBy::kThread}}};

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

Result<GroupBy> parse_group_by(std::string_view name) {
    const auto* known =
        std::ranges::find(kGroupings, name, &decltype(kGroupings)::value_type::first);
    if (known == kGroupings.end()) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("--by {}: it is process, name, initial_call, scheduler or thread", name));
    }
    return known->second;
}

std::string Profile::group_of(const SampleStack& sample, const SampledThread& thread) const {
    if (by_ == GroupBy::kThread) {
        return fmt::format("{} ({})", thread.name, thread.id);
    }
    if (by_ == GroupBy::kScheduler) {
        return thread.scheduler.value_or(fmt::format("[thread {}]", thread.name));
    }
    if (!sample.process) {
        return without_process(sample, thread);
    }
    const auto& process = *sample.process;
    switch (by_) {
        case GroupBy::kName:
            return process.registered.value_or("(not registered)");
        case GroupBy::kInitialCall:
            return process.initial_call.value_or("(not known)");
        default: {
            const auto& call = process.registered ? process.registered : process.initial_call;
            return call ? fmt::format("{} {}", pid_text(process.owner_id), *call)
                        : pid_text(process.owner_id);
        }
    }
}

void Profile::count_functions(const SampleStack& sample, FunctionCounts& counts) const {
    if (sample.frames.empty()) {
        return;
    }
    auto& innermost = counts[sample.frames.front()];
    ++innermost.self;
    innermost.native += sample.native.empty() ? 0 : 1;
    // A function that is there twice counts once.
    std::unordered_set<std::string_view> seen;
    for (const auto& function : sample.frames) {
        if (seen.insert(function).second) {
            ++counts[function].total;
        }
    }
}

void Profile::count_native(const SampleStack& sample) {
    if (sample.native.empty()) {
        return;
    }
    ++native_[sample.native.front()].self;
    std::unordered_set<std::string_view> seen;
    for (const auto& function : sample.native) {
        if (seen.insert(function).second) {
            ++native_[function].total;
        }
    }
}

bool Profile::add(const SampleStack& sample, const SampledThread& thread) {
    ++all_samples_;
    if (only_ && !only_->matches(sample)) {
        unnamed_ += std::ranges::any_of(sample.native, has_no_name) ? 1 : 0;
        return true;
    }
    ++kinds_[sample.kind];
    if (sample.unknown != UnknownCallers::kNone) {
        ++unknown_[sample.unknown];
    }
    const bool of_process =
        sample.kind != SampleKind::kOtherThread && sample.kind != SampleKind::kEmulator;
    ended_ += of_process && !sample.process ? 1 : 0;
    if (sample.kind == SampleKind::kOtherThread) {
        ++other_threads_[thread.name];
    }
    count_functions(sample, functions_);
    count_native(sample);

    std::vector<std::uint32_t> places;
    const auto take = [&](const std::string& function) {
        places.push_back(stacks_.place({.function = function}));
    };
    std::ranges::for_each(sample.native, take);
    std::ranges::for_each(sample.frames, take);
    if (of_process && !sample.callers_known()) {
        take(sample.more ? "(further callers)" : "(callers not known)");
    } else if (!of_process) {
        take(without_process(sample, thread));
    }
    if (by_ != GroupBy::kNone) {
        auto group = group_of(sample, thread);
        if (groups_.size() >= kMostGroups && !groups_.contains(group)) {
            group = kFurtherGroups;
        }
        auto& counted = groups_[group];
        ++counted.samples;
        count_functions(sample, counted.functions);
        take(group);
    }
    stacks_.add(places, 1);
    return stacks_.bytes() < kMostBytes;
}

}  // namespace beamdump::sampler
