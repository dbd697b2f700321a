#pragma once

#include "alloc/collect_alloc.h"

#include <libdump/profile/profile_files.h>
#include <libdump/text/output.h>

#include <utility>
#include <vector>

namespace beamdump::sampler {

/// Functions with the most words first; equal ones by collections, then by name.
std::vector<std::pair<std::string, AllocatedBy>> sorted_functions(const Allocation& allocation);

/// A table of functions, stacks if callers were looked at, and how it was found. `most`: rows, at
/// most.
void alloc_text(Output& output, const AllocReport& report, std::size_t most);

/// All of it as JSON (schemas/json/sampler/alloc.schema.json).
void alloc_json(Output& output, const AllocReport& report);

/// What the weights of its stacks are, for profile_files.h.
ProfileTerms alloc_terms(const AllocReport& report, std::string exporter);

}  // namespace beamdump::sampler
