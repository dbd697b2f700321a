#pragma once

#include <libdump/profile/profile_files.h>
#include <libdump/profile/profile_report.h>
#include <libdump/text/output.h>

#include <string_view>
#include <utility>
#include <vector>

namespace beamdump {

/// A kind of samples as JSON names it: "exact", "read_after".
std::string_view kind_name(SampleKind kind);
/// A reason as JSON names it: "half_made_frame".
std::string_view unknown_name(UnknownCallers unknown);

/// Functions with the most samples in themselves first; equal ones by total, then by name.
std::vector<std::pair<std::string, FunctionCount>> sorted_functions(const FunctionCounts& counts);
std::vector<std::pair<std::string, NativeCount>> sorted_native(const Profile& profile);
/// Groups with the most samples first.
std::vector<std::pair<std::string, const GroupCount*>> sorted_groups(const Profile& profile);

/// Tables of functions, native code, groups and of how samples are known. `most`: rows of a table,
/// at most.
void profile_text(Output& output, const ProfileReport& report, std::size_t most);

/// The stacks of the greatest weights, `most` of them at most, the innermost function first.
void stacks_list(Output& output, const StackTree& stacks, std::size_t most);

/// All of it as JSON (schemas/json/sampler/profile.schema.json).
void profile_json(Output& output, const ProfileReport& report);

/// What the weights of its stacks are, for profile_files.h.
ProfileTerms profile_terms(const ProfileReport& report, std::string exporter);

}  // namespace beamdump
