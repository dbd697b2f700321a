#pragma once

#include <libdump/heap/largest_terms.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace beamdump::query {

/// A part of a term, and the step that leads to it.
struct TermPart {
    PathStep step;
    std::uint64_t word = 0;
};

/// Which parts are told: those that a term shows, or also the keys of maps, definitions of records
/// and what parts of binaries keep.
enum class Parts : bool { kShown, kAll };

/// Tells the parts of a term in their order, until `visit` says false. Returns false where a word
/// of the term is missing or invalid; what comes before is told. Memory does not depend on their
/// number.
bool each_part(const TagScheme& scheme, WordReader& reader, std::uint64_t word, Parts which,
               const std::function<bool(const TermPart&)>& visit);

/// "list", "tuple", "map", "binary"... of a word.
std::string_view term_kind_text(const TagScheme& scheme, WordReader& reader, std::uint64_t word);

}  // namespace beamdump::query
