#pragma once

#include <libdump/text/output.h>
#include <libsample/node/observed_node.h>

#include <string>
#include <string_view>

namespace beamdump::sampler {

/// Writes the node's code as a map for perf: a line for each function of each loaded module and for
/// each shared fragment, "START BYTES $NAME" in hexadecimal (Linux, tools/perf/Documentation/
/// jit-interface.txt). The names begin as those that a node with +JPperf map writes itself
/// (jit/beam_jit_metadata.cpp, OTP 25 to 29). A function's bytes go on to the next one's start; the
/// last one's to the end of its module.
Result<void> perf_map(ObservedNode& node, Output& output);

/// One line of it. The name has no terminal controls.
std::string perf_map_line(Address begin, Address end, std::string_view function);

}  // namespace beamdump::sampler
