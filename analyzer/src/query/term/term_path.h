#pragma once

#include <libdump/heap/heap_census.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <string>
#include <vector>

namespace beamdump::query {

/// The steps of a way as words: "element 4" of a tuple, "item 7" of a list, "tail", "key sessions"
/// of a map, "field name" of a native record, "environment 1" of a fun, "part of" for what a sub
/// binary keeps. Elements and items count from 1. A large map's inner nodes make no step of their
/// own.
std::vector<std::string> path_texts(const std::vector<PathStep>& path, const TagScheme& scheme,
                                    WordReader& reader, TermPrinter& printer);

}  // namespace beamdump::query
