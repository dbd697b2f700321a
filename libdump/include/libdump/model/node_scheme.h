#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>

namespace beamdump {

/// Whether it was made of a crash dump's text, which leaves out what a capture always has.
bool is_of_crash_dump(const Dump& dump);

/// Size of the node's words; that of most where the dump does not tell.
std::uint64_t node_word_bytes(const Dump& dump);

/// The scheme that the dump's node tags its words by.
Result<TagScheme> node_scheme(const Dump& dump);

}  // namespace beamdump
