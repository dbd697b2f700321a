#pragma once

#include <libdump/crash/import/words/element_parser.h>

#include <optional>
#include <span>
#include <vector>

namespace beamdump::crash {

/// The words of a term in the external term format.
struct ExternalWords {
    /// An object that another one refers to.
    struct Part {
        std::uint64_t at = 0;
        bool is_cell = false;
        std::vector<WordImage::Word> words;
    };
    std::vector<WordImage::Word> root;  ///< of the boxed object that the term is
    std::vector<Part> parts;            ///< at new addresses
};

/// The words of an object that the VM prints in the external term format: a reference, a fun (its
/// environment as empty lists), a pid or port of another node; a map (erl_process_dump.c of OTP 18
/// to 20); a native record (OTP 29). `place`: the address of its parts, one after the other, at
/// most four words a byte. nullopt if it is not a boxed object, is malformed, is nested too deeply,
/// or is a native record whose parts the VM had already written, and thus destroyed.
std::optional<ExternalWords> words_of_external(std::span<const std::uint8_t> bytes,
                                               const TextFormat& format, Names& names,
                                               std::uint64_t place);

}  // namespace beamdump::crash
