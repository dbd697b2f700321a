#pragma once

#include "threads/collect_threads.h"

#include <libdump/text/output.h>

namespace beamdump::sampler {

/// A table of threads, then the places where they were seen, at most `most` of each.
void threads_text(Output& output, const ThreadsReport& report, std::size_t most);

/// All of it as JSON (schemas/json/sampler/threads.schema.json).
void threads_json(Output& output, const ThreadsReport& report);

}  // namespace beamdump::sampler
