// Binaries in the lines of a heap: heap binaries, references to Binaries, and parts of both.
#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/text/byte_parser.h>

#include <cstring>
#include <vector>

namespace beamdump::crash {
namespace {

// Above all addresses of a user process. Those of literals lie apart: a region's gaps are filled.
constexpr std::uint64_t kHolders = 0x0F30'0000'0000'0000;
constexpr std::uint64_t kLiteralHolders = 0x0F60'0000'0000'0000;

}  // namespace

/// A part of something that is not an object is part of a Binary that the VM did not print: it
/// omits those that only sub binaries refer to (OTP 25).
Result<void> HeapParser::settle_parts() {
    const auto word =
        format_.words.scheme().heap_binary_in_bits ? otp27::kSubOriginal : otp25::kSubOriginal;
    for (const auto& part : parts_) {
        if (image_.object_at(part.original) != ObjectStart::kNone ||
            literals_.object_at(part.original) != ObjectStart::kNone) {
            continue;
        }
        ASSIGN_OR_RETURN(auto holder, holder_of(part.binary));
        RETURN_IF_ERROR(image_.put(part.at + word * kHeapWordBytes, {holder, true}));
    }
    parts_.clear();
    return {};
}

HeapParser::Parsed HeapParser::binary(TextCursor& text, std::uint64_t at) {
    const char kind = text.peek();
    text.skip(kind == '\0' ? 0 : 1);
    switch (kind) {
        case 'h':
            return heap_binary(text, at);
        case 'c':
            return off_heap_binary(text, at, false);
        case 's':
            return off_heap_binary(text, at, true);
        default:
            return Outcome::kMalformed;
    }
}

/// The rest of a line: how many bytes, a colon and the bytes.
std::optional<std::vector<std::uint8_t>> HeapParser::counted_bytes(TextCursor& text) {
    const auto bytes = text.take_hex();
    // A heap binary has at most 64 (binary.h), the VM's buffer for terms in external format 1024
    // (dump_externally()). `crash-dump` writes bit strings of up to 64 KiB, in external format.
    constexpr std::uint64_t kMax = (64U << 10U) + 16;
    if (!bytes || *bytes > kMax || !text.take(':')) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> content(*bytes);
    if (ByteParser(text, format_.base64).read(content) != content.size() || !text.is_line_end()) {
        return std::nullopt;
    }
    return content;
}

HeapParser::Parsed HeapParser::heap_binary(TextCursor& text, std::uint64_t at) {
    const auto content = counted_bytes(text);
    if (!content) {
        return Outcome::kMalformed;
    }
    const auto bytes = content->size();
    const auto data_words = (bytes + kHeapWordBytes - 1) / kHeapWordBytes;
    const bool in_bits = format_.words.scheme().heap_binary_in_bits;
    words_.assign(otp25::kHeapBinaryData + data_words, 0);
    words_[0] = format_.words.header(BoxedKind::kHeapBinary, data_words + 1);
    words_[otp25::kBinarySize] = in_bits ? bytes * 8 : bytes;
    if (bytes != 0) {
        std::memcpy(words_.data() + otp25::kHeapBinaryData, content->data(), bytes);
    }
    return whole(at, words_);
}

HeapParser::Parsed HeapParser::off_heap_binary(TextCursor& text, std::uint64_t at, bool sub) {
    const auto owner = text.take_hex();
    if (!owner || !text.take(':')) {
        return Outcome::kMalformed;
    }
    const auto offset = text.take_hex();
    if (!offset || !text.take(':')) {
        return Outcome::kMalformed;
    }
    const auto bytes = text.take_hex();
    if (!bytes || !text.is_line_end()) {
        return Outcome::kMalformed;
    }
    const bool in_bits = format_.words.scheme().heap_binary_in_bits;
    constexpr std::uint64_t kTagBits = 3;
    // The VM's own address of the Binary in one form; of an object on a heap, tagged, in the other.
    const bool is_binary = binary_(*owner);
    const bool keeps = !sub && (!in_bits || *offset >= *owner);
    const auto& scheme = format_.words.scheme();
    ASSIGN_OR_RETURN(const auto room, has_room(at, keeps     ? scheme.refc_words
                                                   : in_bits ? otp27::kSubWords
                                                             : otp25::kSubWords));
    if (!room) {
        return Outcome::kOverlap;
    }
    Result<void> done;
    if (sub && !is_binary) {
        const auto original = format_.place_of(*owner & ~kTagBits);
        done = part_of(at, original, *offset, *bytes);
        if (image_.object_at(original) == ObjectStart::kNone) {
            parts_.push_back({at, original, *owner});
        }
    } else if (sub || in_bits) {
        // OTP 27's BinRef, which keeps the Binary, is printed with the address of its bytes as an
        // offset.
        if (in_bits && *offset >= *owner) {
            done = reference_to(at, *owner, 0, *bytes);
        } else {
            auto holder = holder_of(*owner);
            done = holder ? part_of(at, *holder, *offset, *bytes) : std::unexpected(holder.error());
        }
    } else {
        done = reference_to(at, *owner, *offset, *bytes);
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    return Outcome::kDone;
}

/// The object that keeps a Binary: a ProcBin, or from OTP 27 on a BinRef.
Result<void> HeapParser::reference_to(std::uint64_t at, std::uint64_t binary, std::uint64_t offset,
                                      std::uint64_t bytes) {
    const auto& scheme = format_.words.scheme();
    words_.assign(scheme.refc_words, 0);
    words_[0] = format_.words.header(BoxedKind::kRefcBinary, scheme.refc_words - 1);
    words_[scheme.refc_binary] = binary;
    if (!scheme.heap_binary_in_bits) {
        words_[otp25::kBinarySize] = bytes;
        words_[otp25::kRefcBytes] = binary_data_address(binary) + offset;
    }
    image_.begin(at, ObjectStart::kBoxed);
    return put(at, words_);
}

Result<void> HeapParser::part_of(std::uint64_t at, std::uint64_t original, std::uint64_t offset,
                                 std::uint64_t bytes) {
    std::uint64_t original_word = otp25::kSubOriginal;
    if (format_.words.scheme().heap_binary_in_bits) {
        constexpr std::uint64_t kBits = 8;
        words_.assign(otp27::kSubWords, 0);
        words_[0] = format_.words.header(BoxedKind::kSubBits, otp27::kSubWords - 1);
        words_[otp27::kSubBase] = otp27::kSubVolatile;
        words_[otp27::kSubStart] = offset * kBits;
        words_[otp27::kSubEnd] = (offset + bytes) * kBits;
        original_word = otp27::kSubOriginal;
    } else {
        words_.assign(otp25::kSubWords, 0);
        words_[0] = format_.words.header(BoxedKind::kSubBinary, otp25::kSubWords - 2);
        words_[otp25::kBinarySize] = bytes;
        words_[otp25::kSubOffset] = offset;
    }
    image_.begin(at, ObjectStart::kBoxed);
    auto done = put(at, words_);
    return done ? image_.put(at + original_word * kHeapWordBytes, {original, true}) : done;
}

Result<std::uint64_t> HeapParser::holder_of(std::uint64_t binary) {
    // One for each Binary, and as far apart as Binaries are at least.
    const auto base = &image_ == &literals_ ? kLiteralHolders : kHolders;
    const auto at = base + binary * 2 / kHeapWordBytes * kHeapWordBytes;
    if (image_.object_at(at) == ObjectStart::kNone) {
        RETURN_IF_ERROR(reference_to(at, binary, 0, 0));
    }
    return at;
}

}  // namespace beamdump::crash
