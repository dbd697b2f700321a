#pragma once

#include <libdump/heap/heap_census.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// The steps of a way as words: "element 4" of a tuple, "item 7" of a list, "tail", "key sessions"
/// of a map, "as key K" for a key of a large map itself and "keys" for those of a small one, "field
/// name" of a native record, "environment 1" of a fun, "part of" for what a sub binary keeps.
/// Elements and items count from 1. A large map's inner nodes make no step of their own.
std::vector<std::string> path_texts(const std::vector<PathStep>& path, const TagScheme& scheme,
                                    WordReader& reader, TermPrinter& printer);

/// The key of a step to a value of a map or native record (or to a key of a large map); nullopt for
/// other steps, and where it cannot be read.
std::optional<std::uint64_t> key_of(const PathStep& step, WordReader& reader);

/// Bytes of a key in the text of a step; "..." follows where it is longer.
inline constexpr std::size_t kStepKeyBytes = 60;

}  // namespace beamdump::query
