#pragma once

#include "capture/node/capture_options.h"
#include "capture/session/capture_report.h"

#include <libvm/beam/locate/locate.h>

#include <atomic>
#include <functional>

namespace beamdump::capture {

/// How the VM is to be located, by the options. kNotFound: a layout file cannot be read;
/// other errors are Layout::parse()'s.
Result<beam::LocateOptions> locate_options(const CaptureOptions& options);

/// Takes the whole dump: opens the target, checks it, stops it, writes all records, resumes it,
/// finishes the dump. Of a core, which does not move, likewise. `make_writer` is called once the
/// target has passed its checks, so that a refused target leaves no output. `cancelled` is examined
/// often; when set, the target is resumed and the error says so.
using MakeWriter = std::function<Result<DumpWriter>()>;
Result<CaptureReport> capture_node(const CaptureOptions& options, const MakeWriter& make_writer,
                                   ProgressListener& listener, const std::atomic<bool>& cancelled);

}  // namespace beamdump::capture
