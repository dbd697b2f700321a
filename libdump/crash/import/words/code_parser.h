#pragma once

#include <libdump/crash/import/words/names.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::crash {

/// A function as the VM prints one: `lists:map/2`, with quoted atoms where they need it, and what
/// follows it.
struct ParsedFunction {
    std::string module;
    std::string function;
    std::uint32_t arity = 0;
    std::string_view rest;
};
std::optional<ParsedFunction> parse_function(std::string_view text);

/// An atom as the VM prints it, quoted where it needs it, taken off the front of `text`.
std::optional<std::string> parse_atom(std::string_view& text);

/// A code address and what the VM printed of it, `0x... (lists:map/2 + 20)`: noted in `names`.
/// `near`: another address in the node's code, to complete one of which only the lower half was
/// printed; 0 where none is known.
std::optional<std::uint64_t> note_code(std::string_view text, std::uint64_t near, Names& names);

}  // namespace beamdump::crash
