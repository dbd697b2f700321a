#pragma once

#include "command/top_options.h"

#include <libsample/node/observed_node.h>
#include <program/streams.h>

#include <atomic>

namespace beamdump::sampler {

/// Shows a node again and again: on a screen if standard output and input are a terminal and
/// neither JSON nor a number of refreshes is asked for. Ended by a signal it is done.
Result<void> run_top(ObservedNode& node, const TopSettings& settings, bool json,
                     program::Streams& streams, const std::atomic<bool>& cancelled);

}  // namespace beamdump::sampler
