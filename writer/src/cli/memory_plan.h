#pragma once

#include "cli/options.h"

#include <libdump/base/error.h>
#include <libvm/target/process/head_room.h>

#include <string>

namespace beamdump::cli {

/// Chooses how a capture runs by what is left to this process and by --memory: as usual, or in a
/// form that takes kLeastMemory at most (memory::kSmallSizes, one compression thread, level 1, no
/// page cache). kLimit: not even that is left, or what is asked for does not fit. Changes nothing
/// but `options`.
Result<void> plan_memory(Options& options, const target::HeadRoom& own);

/// Makes allocations fail beyond Options::memory, if it is set.
Result<void> keep_to_plan(const Options& options);

/// What --check says of the plan, a line.
std::string plan_text(const Options& options);

}  // namespace beamdump::cli
