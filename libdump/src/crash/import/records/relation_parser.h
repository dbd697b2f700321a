#pragma once

#include "crash/import/words/element_parser.h"

#include <records.pb.h>

#include <cstdint>
#include <vector>

namespace beamdump::crash {

/// Of a link or monitor in memory, about.
inline constexpr std::uint64_t kRelationMemory = 128;

/// The links and monitors of a process, as its `Link list: [...]` has them (break.c,
/// doit_print_link and doit_print_monitor), in pages. Passes over the rest of the line; what is
/// none of both is left out.
/// In the names' budget each takes kRelationMemory, which is given back with the pages.
std::vector<records::Relations> take_relations(TextCursor& text, const TextFormat& format,
                                               Names& names);

}  // namespace beamdump::crash
