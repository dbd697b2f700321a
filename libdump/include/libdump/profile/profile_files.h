#pragma once

#include <libdump/base/error.h>
#include <libdump/profile/stack_tree.h>
#include <libdump/text/output.h>

#include <cstdint>
#include <optional>
#include <string>

namespace beamdump {

/// What a profile's weights are, and who wrote it.
struct ProfileTerms {
    std::string title;
    std::string exporter;                   ///< the program and its version
    std::string type;                       ///< "processes", "memory", "cpu"
    std::string unit = "count";             ///< "count", "bytes" or "nanoseconds"
    std::uint64_t scale = 1;                ///< units of a weight of 1
    std::optional<std::int64_t> time_us{};  ///< since the epoch
};

/// A line for each stack, the outermost function first: "init:loop/1;lists:map/2 17".
void folded_stacks(Output& output, const StackTree& stacks);

/// A "sampled" profile of speedscope.
void speedscope_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms);

/// A gzipped profile of pprof (schemas/pprof.proto). Memory: the whole profile.
Result<void> pprof_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms);

}  // namespace beamdump
