#pragma once

#include <libdump/crash/import/words/element_parser.h>

#include <records.pb.h>

#include <cstdint>
#include <vector>

namespace beamdump::crash {

/// Approximate memory of a link or monitor.
inline constexpr std::uint64_t kRelationMemory = 128;

/// The links and monitors of a process, as its `Link list: [...]` has them (break.c,
/// doit_print_link and doit_print_monitor), in pages. Reads to the end of the line; other entries
/// are skipped. Each takes kRelationMemory of the names' budget, which is returned with the pages.
std::vector<records::Relations> take_relations(TextCursor& text, const TextFormat& format,
                                               Names& names);

}  // namespace beamdump::crash
