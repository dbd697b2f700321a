#pragma once

#include <libdump/model/dump.h>
#include <libdump/profile/profile_report.h>
#include <libdump/profile/sample_pages.h>

#include <string>

namespace beamdump::query {

/// What a node's threads did before it was captured (beamdump-capture --profile), counted by `by`.
/// `visit`: gets each stack. kNotFound: the dump has no samples.
Result<ProfileReport> read_profile(Dump& dump, const std::string& file, SamplesBy by,
                                   SamplePages::Visit visit = {});

/// The samples of one message that numbers its own code, processes and threads. kCorrupt, kLimit.
Result<ProfileReport> profile_of(Dump& dump, const records::Samples& samples);

}  // namespace beamdump::query
