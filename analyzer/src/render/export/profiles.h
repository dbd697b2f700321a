#pragma once

#include "query/node/dump_facts.h"
#include "query/things/stack_profile.h"
#include "render/shared/output.h"

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>

namespace beamdump::render {

/// A line for each stack, the outermost function first: "init:loop/1;lists:map/2 17".
void folded_stacks(Output& output, const query::StackProfile& profile);

/// A "sampled" profile of speedscope.
void speedscope_profile(Output& output, const query::StackProfile& profile,
                        const query::DumpFacts& facts, query::StackWeight weight);

/// A gzipped profile of pprof (schemas/pprof.proto). Memory: the whole profile.
Result<void> pprof_profile(ByteSink& sink, const query::StackProfile& profile,
                           const query::DumpFacts& facts, query::StackWeight weight);

}  // namespace beamdump::render
