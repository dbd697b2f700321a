#pragma once

#include <libdump/model/dump.h>
#include <libdump/profile/profile_report.h>

#include <string>

namespace beamdump::query {

/// What a node's threads did before it was captured (beamdump-capture --profile), counted by `by`.
/// kNotFound: the dump has no samples.
Result<ProfileReport> read_profile(Dump& dump, const std::string& file, SamplesBy by);

}  // namespace beamdump::query
