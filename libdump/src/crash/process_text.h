#pragma once

#include "element_text.h"

#include <libdump/crash/crash_dump.h>

#include <records.pb.h>

#include <vector>

namespace beamdump::crash {

/// What a section =proc says (break.c, print_process_info).
struct ProcessText {
    records::Process process;
    records::ProcessRow row;
    std::vector<records::Relations> relations;
    std::uint64_t links = 0;
    std::uint64_t monitors = 0;
    std::uint64_t heap_unused_words =
        0;  ///< of the new heap: what lies over its top, the stack too
    bool has_heap_unused = false;
};

/// Reads the section. A line that is not known, or whose value makes no sense, is passed over: what
/// it would say is not in the result.
Result<ProcessText> read_process(const TextSource& source, TextWindow& window,
                                 const ProcessSections& sections, const TextFormat& format,
                                 Names& names);

/// A function as the VM prints one: `lists:map/2`, with quoted atoms where they need it, and what
/// follows it.
struct FunctionText {
    std::string module;
    std::string function;
    std::uint32_t arity = 0;
    std::string_view rest;
};
std::optional<FunctionText> parse_function(std::string_view text);

/// An atom as the VM prints it, quoted where it needs it, taken off the front of `text`.
std::optional<std::string> parse_atom(std::string_view& text);

/// A code address and what the VM printed of it, `0x... (lists:map/2 + 20)`: noted in `names`.
/// `near`: another address in the node's code, to complete one of which only the lower half was
/// printed; 0 where none is known.
std::optional<std::uint64_t> note_code(std::string_view text, std::uint64_t near, Names& names);

}  // namespace beamdump::crash
