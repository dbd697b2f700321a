// Lines in the external term format, for terms without another text.
#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/external_words.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/format/crash_regions.h>
#include <libdump/term/external_tags.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::crash {
namespace {

namespace tags = external_tag;

// Above all addresses of a user process.
constexpr std::uint64_t kExternalParts = 0x0F70'0000'0000'0000;

/// The atom undefined in the external term format, which OTP 18 to 20 print in place of a map
/// (dump_externally() of erl_process_dump.c): it cannot mean the atom, which is not an object.
constexpr std::array<std::uint8_t, 13> kMapLeftOut = {
    kExternalVersion, tags::kAtom, 0, 9, 'u', 'n', 'd', 'e', 'f', 'i', 'n', 'e', 'd'};

/// The VM's text for a term that it cannot encode: only the version byte.
constexpr std::array<std::uint8_t, 1> kNotEncoded = {kExternalVersion};

/// The text of an atom in the external term format, if the bytes are one.
std::optional<std::string_view> atom_of_external(std::span<const std::uint8_t> bytes) {
    constexpr unsigned kByteBits = 8;
    constexpr std::size_t kSmallHead = 3;
    constexpr std::size_t kHead = 4;
    std::size_t head = 0;
    std::size_t size = 0;
    if (bytes.size() >= kSmallHead && bytes[0] == kExternalVersion &&
        bytes[1] == tags::kSmallAtomUtf8) {
        head = kSmallHead;
        size = bytes[2];
    } else if (bytes.size() >= kHead && bytes[0] == kExternalVersion &&
               bytes[1] == tags::kAtomUtf8) {
        head = kHead;
        size = static_cast<std::size_t>(bytes[2]) << kByteBits | bytes[3];
    }
    return head == 0 || bytes.size() != head + size
               ? std::nullopt
               : std::optional(
                     std::string_view(reinterpret_cast<const char*>(bytes.data()) + head, size));
}

}  // namespace

HeapParser::Parsed HeapParser::external(TextCursor& text, std::uint64_t at) {
    const auto bytes = counted_bytes(text);
    if (!bytes) {
        return Outcome::kMalformed;
    }
    const std::span content(*bytes);
    if (std::ranges::equal(content, kNotEncoded) || std::ranges::equal(content, kMapLeftOut)) {
        return Outcome::kDone;  // without words: the text lacks it
    }
    if (at >= kAtomObjects) {
        const auto atom = atom_of_external(content);
        if (atom) {
            names_.atom_object(at, *atom);
        }
        return atom ? Outcome::kDone : Outcome::kMalformed;
    }
    // More words than its text has characters, so that terms do not overlap.
    constexpr std::uint64_t kBytesOfCharacter = 32;
    const auto terms =
        words_of_external(content, format_, names_, kExternalParts + line_ * kBytesOfCharacter);
    if (!terms) {
        return Outcome::kMalformed;
    }
    ASSIGN_OR_RETURN(const auto room, has_room(at, terms->root.size()));
    if (!room) {
        return Outcome::kOverlap;
    }
    auto done = put_words(at, terms->root);
    for (const auto& part : terms->parts) {
        if (done) {
            done = put_words(part.at, part.words);
            image_.begin(part.at, part.is_cell ? ObjectStart::kCell : ObjectStart::kBoxed);
        }
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    image_.begin(at, ObjectStart::kBoxed);
    return Outcome::kDone;
}

}  // namespace beamdump::crash
