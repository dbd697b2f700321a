#pragma once

#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>

namespace beamdump {

struct FlatSize {
    std::uint64_t words = 0;
    bool whole = true;           ///< false: something was unreadable; `words` counts the rest
    bool limit_reached = false;  ///< counting stopped there; `words` is at least the limit
};

/// Words of a term's copy without sharing, as erts_debug:flat_size/1 counts them (copy.c,
/// size_object_x, OTP 25.2.3): 0 for an immediate and for the empty tuple, literals included, a sub
/// binary as the binary that a copy of it would be.
///
/// Shared structure is counted as often as it is reached, so a small heap can hold a size beyond
/// any time: counting stops at `limit_words`, which also ends it in a torn heap that leads back
/// into itself. Memory: 16 bytes a level of nesting; nothing recurses.
FlatSize flat_size(const TagScheme& scheme, WordReader& reader, std::uint64_t word,
                   std::uint64_t limit_words);

}  // namespace beamdump
