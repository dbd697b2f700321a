#pragma once

#include <libdump/crash/import/words/names.h>
#include <libdump/crash/import/words/word_image.h>
#include <libdump/crash/import/words/word_maker.h>
#include <libdump/crash/text/text_cursor.h>

#include <optional>

namespace beamdump::crash {

/// What the parts of a dump have in common: how its text is to be read, and where its names go.
struct TextFormat {
    WordMaker words;
    bool base64 = true;
    std::uint64_t word_bytes = 8;  ///< of the node
    std::string node_name;         ///< of the node itself
    bool names_node = true;        ///< whether the text says it
    bool has_returns = false;      ///< its lines end with a carriage return before the newline
    bool memory_of_heaps = false;  ///< it tells no process's memory

    /// The place of an address of the node: those of a node with words of four bytes are doubled,
    /// so that its words do not overlap where words have eight.
    [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const {
        return word_bytes == WordImage::kWordBytes ? address : address * 2;
    }
};

/// Reads one element (erl_process_dump.c, dump_element): an atom, small integer, pid or port, the
/// empty list, or the address of an object. Nothing where there is no such. What the VM has no text
/// for, it leaves out: an empty element is the non-value.
std::optional<WordImage::Word> take_element(TextCursor& text, const TextFormat& format,
                                            Names& names);

/// The numbers of an identifier, `<0.10.0>`; lowest two for a port's. Passes over what stands
/// before the `<`.
struct ParsedIdentifier {
    std::uint64_t channel = 0;
    std::uint64_t number = 0;
    std::uint64_t serial = 0;
};
std::optional<ParsedIdentifier> take_identifier(TextCursor& text);

/// An atom's name in an element, after its `A`: its length in hexadecimal, a colon, its bytes.
/// A line end in it is one character, however the text writes line ends.
std::optional<std::string> take_atom(TextCursor& text, const TextFormat& format);

}  // namespace beamdump::crash
