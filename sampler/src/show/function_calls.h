#pragma once

#include "calls/function_calls.h"

#include <libdump/text/output.h>

namespace beamdump::sampler {

/// A table of the functions, their callers, and how it was found. `most`: callers of each function,
/// at most.
void function_calls_text(Output& output, const FunctionCallsReport& report, std::size_t most);

/// All of it as JSON (schemas/json/sampler/alloc-functions.schema.json).
void function_calls_json(Output& output, const FunctionCallsReport& report);

}  // namespace beamdump::sampler
