#pragma once

#include <libdump/base/error.h>
#include <libdump/profile/stack_tree.h>
#include <libdump/text/output.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// How stacks are written for other programs.
enum class StackFormat : std::uint8_t { kFolded, kSpeedscope, kPprof };

/// "folded", "speedscope" or "pprof". kUsage.
Result<StackFormat> parse_stack_format(std::string_view name);

/// Writes stacks in a format; only pprof's can fail.
Result<void> stacks_as(StackFormat format, Output& output, const StackTree& stacks,
                       const ProfileTerms& terms);

/// A line for each stack, the outermost function first: "init:loop/1;lists:map/2 17".
void folded_stacks(Output& output, const StackTree& stacks);

/// A "sampled" profile of speedscope.
void speedscope_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms);

/// A gzipped profile of pprof (schemas/pprof.proto). Memory: the whole profile.
Result<void> pprof_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms);

}  // namespace beamdump
