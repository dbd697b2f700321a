#pragma once

#include "cli/shared_options.h"
#include "render/shared/output.h"

#include <libdump/base/byte_sink.h>

#include <memory>
#include <string>

namespace beamdump::cli {

/// A command's output: a file, or standard output for `-`.
Result<std::unique_ptr<ByteSink>> open_sink(const OutputChoice& output, render::Output& out,
                                            PartialFile partial = PartialFile::kKept);

/// Adds the name of the partial file to an error without it.
Error with_partial(Error error, const std::string& output);

}  // namespace beamdump::cli
