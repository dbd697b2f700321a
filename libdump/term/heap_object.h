#pragma once

#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <optional>

namespace beamdump {

/// One object on a heap: a cons cell or a boxed object.
struct HeapObject {
    std::uint64_t address = 0;
    bool is_cell = false;
    BoxedKind kind = BoxedKind::kUnknown;  ///< of a boxed object
    std::uint64_t header = 0;              ///< of a boxed object
    std::uint64_t words = 0;               ///< on the heap, header included
    /// As erts_debug:flat_size/1 counts it alone: 0 for the empty tuple, and for a sub binary the
    /// words of the binary that a copy of it would be (copy.c, size_object_x, OTP 25.2.3
    /// and 27.3.4).
    std::uint64_t copy_words = 0;
    /// A match context of OTP 27 over a bit string on the heap: a copy of it holds that one's bits.
    bool over_heap_bits = false;
    TermRange terms;  ///< its slots that hold terms, in words from `address` on
    bool whole =
        true;  ///< false: copy_words could not be told, for what it refers to is unreadable

    /// Address of the slots' first word.
    [[nodiscard]] std::uint64_t terms_address() const { return address + terms.first * kWordBytes; }
    /// A sub binary's and a match context's slot keeps another object alive; neither's size counts
    /// it. Part of an off-heap bit string (OTP 27) is counted with what refers to it.
    [[nodiscard]] bool keeps_only() const {
        return !is_cell && (kind == BoxedKind::kSubBinary || kind == BoxedKind::kMatchContext ||
                            over_heap_bits);
    }
};

/// Whether a word refers to an object, i.e. is not an immediate.
inline bool leads_to_object(const TagScheme& scheme, std::uint64_t word) {
    const WordKind kind = word_kind(scheme, word);
    return kind == WordKind::kList || kind == WordKind::kBoxed;
}

/// The object that a list or boxed word refers to; nullopt if its words are missing or invalid in
/// the scheme. Both words of a cell are present, and at least the first four of a boxed object.
std::optional<HeapObject> heap_object(const TagScheme& scheme, WordReader& reader,
                                      std::uint64_t word);

/// The boxed object that is at an address.
std::optional<HeapObject> boxed_object(const TagScheme& scheme, WordReader& reader,
                                       std::uint64_t address);

}  // namespace beamdump
