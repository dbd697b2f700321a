#pragma once

#include "query/diff/diff.h"

namespace beamdump::query {

/// What is known of all dumps before anything is compared.
DiffContext make_context(const std::vector<DiffInput>& inputs, const DiffOptions& options);

/// The head of the answer about them.
DumpsDiff begin_diff(const DiffContext& context);

}  // namespace beamdump::query
