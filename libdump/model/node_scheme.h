#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>

namespace beamdump {

/// Size of the node's words; 8 if the dump does not have it.
std::uint64_t node_word_bytes(const Dump& dump);

/// The term scheme of the dump's node, with the style set for the dump.
Result<TagScheme> node_scheme(const Dump& dump);

}  // namespace beamdump
