#pragma once

#include "cli/shared_options.h"
#include "render/shared/output.h"

#include <libdump/base/byte_sink.h>

#include <memory>
#include <string>

namespace beamdump::cli {

/// What a command writes to: the file that was named, or standard output for `-`.
Result<std::unique_ptr<ByteSink>> open_sink(const OutputChoice& output, render::Output& out);

/// Names the part of the file that is left behind, where the sentence does not.
Error with_partial(Error error, const std::string& output);

}  // namespace beamdump::cli
