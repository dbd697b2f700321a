#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/external_words.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/text/big_parser.h>
#include <libdump/crash/text/byte_parser.h>
#include <libdump/format/crash_regions.h>
#include <libdump/term/external_tags.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace beamdump::crash {

namespace {

namespace tags = external_tag;

// Some milliseconds' work.
constexpr std::uint64_t kLinesATime = 4096;
constexpr std::uint64_t kMaxTuple = (1U << 24U) - 1;

/// Whether lines with that letter are objects.
bool names_object(char tag) {
    return std::string_view("ltFBMYPpER").contains(tag);
}

// Above all addresses of a user process. Those of literals lie apart: a region's gaps are filled.
constexpr std::uint64_t kHolders = 0x0F30'0000'0000'0000;
constexpr std::uint64_t kLiteralHolders = 0x0F60'0000'0000'0000;
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

void HeapCounts::leave_out(const LeftOut& object) {
    object.count(objects);
    if (left_out.size() < kMaxListed) {
        left_out.push_back(object);
    }
}

TextCounts HeapCounts::all() const {
    auto counts = lines;
    counts.add(objects);
    return counts;
}

Result<HeapCounts> HeapParser::read(TextCursor& text, const Reached& reached) {
    HeapCounts counts;
    for (std::uint64_t line = 1; !text.at_end(); ++line) {
        RETURN_IF_ERROR(names_.check());
        const auto begin = text.position();
        if (reached && line % kLinesATime == 0) {
            reached(begin);
        }
        const auto address = text.take_hex();
        const auto at = format_.place_of(address.value_or(1));
        line_ = begin;
        if (!address || !is_aligned(at) || !text.take(':') || !names_object(text.peek())) {
            counts.lines.add_malformed(begin);
            text.skip_line();
            continue;
        }
        if (starts_ == Starts::kKnown && at < kAtomObjects && image_.begins_twice(at)) {
            counts.leave_out({at, begin, true});
            text.skip_line();
            continue;
        }
        ASSIGN_OR_RETURN(auto parsed, object(text, at));
        if (!text.take_line_end()) {
            text.skip_line();
        }
        if (parsed != Outcome::kDone) {
            counts.leave_out({at, begin, parsed == Outcome::kOverlap});
        }
    }
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    RETURN_IF_ERROR(settle_parts());
    return counts;
}

HeapParser::Parsed HeapParser::object(TextCursor& text, std::uint64_t at) {
    const char tag = text.peek();
    text.skip(tag == '\0' ? 0 : 1);
    switch (tag) {
        case 'l':
            return cell(text, at);
        case 't':
            return tuple(text, at);
        case 'F':
            return floating(text, at);
        case 'B':
            return big(text, at);
        case 'M':
            return map(text, at);
        case 'Y':
            return binary(text, at);
        case 'P':
        case 'p':
            return identifier(text, at, tag == 'P');
        case 'E':
            return external(text, at);
        case 'R': {
            // A FunRef: only a fun's environment refers to it, which is not in the dump.
            text.take('f');
            return text.take_hex() && text.is_line_end() ? Outcome::kDone : Outcome::kMalformed;
        }
        default:
            return Outcome::kMalformed;
    }
}

/// A whole boxed object.
HeapParser::Parsed HeapParser::whole(std::uint64_t at, std::span<const std::uint64_t> words) {
    ASSIGN_OR_RETURN(const auto room, has_room(at, words.size()));
    return room ? boxed(at, words) : Parsed(Outcome::kOverlap);
}

/// Whether an object of that size would overlap no other there.
Result<bool> HeapParser::has_room(std::uint64_t at, std::uint64_t words) {
    if (starts_ == Starts::kKnown && image_.begins_within(at, words)) {
        return false;
    }
    return image_.is_free(at, words);
}

/// Stores a boxed object's first words, after the others, and marks the object's begin.
HeapParser::Parsed HeapParser::boxed(std::uint64_t at, std::span<const std::uint64_t> words) {
    RETURN_IF_ERROR(put(at, words));
    image_.begin(at, ObjectStart::kBoxed);
    return Outcome::kDone;
}

HeapParser::Parsed HeapParser::cell(TextCursor& text, std::uint64_t at) {
    const auto head = take_element(text, format_, names_);
    if (!head || !text.take('|')) {
        return Outcome::kMalformed;
    }
    const auto tail = take_element(text, format_, names_);
    if (!tail || !text.is_line_end()) {
        return Outcome::kMalformed;
    }
    ASSIGN_OR_RETURN(const auto room, has_room(at, 2));
    if (!room) {
        return Outcome::kOverlap;
    }
    auto done = image_.put(at, *head);
    if (done) {
        done = image_.put(at + kHeapWordBytes, *tail);
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    image_.begin(at, ObjectStart::kCell);
    return Outcome::kDone;
}

HeapParser::Parsed HeapParser::tuple(TextCursor& text, std::uint64_t at) {
    const auto arity = text.take_hex();
    if (!arity || *arity > kMaxTuple || !text.take(':')) {
        return Outcome::kMalformed;
    }
    auto parsed = elements(text, at, 1, *arity);
    if (!parsed || *parsed != Outcome::kDone) {
        return parsed;
    }
    return boxed(at, std::array{format_.words.header(BoxedKind::kTuple, *arity)});
}

HeapParser::Parsed HeapParser::floating(TextCursor& text, std::uint64_t at) {
    const auto length = text.take_hex();
    constexpr std::uint64_t kLongest = 64;
    if (!length || *length > kLongest || !text.take(':')) {
        return Outcome::kMalformed;
    }
    const auto digits = text.look(*length).substr(0, *length);
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.size() != *length || error != std::errc() || end != digits.data() + digits.size()) {
        return Outcome::kMalformed;
    }
    text.skip(*length);
    if (!text.is_line_end()) {
        return Outcome::kMalformed;
    }
    const std::array words = {format_.words.header(BoxedKind::kFloat, 1),
                              std::bit_cast<std::uint64_t>(value)};
    return whole(at, words);
}

HeapParser::Parsed HeapParser::big(TextCursor& text, std::uint64_t at) {
    const auto value = take_big(text);
    if (!value || !text.is_line_end()) {
        return Outcome::kMalformed;
    }
    words_.assign(
        1, format_.words.header(value->negative ? BoxedKind::kNegativeBig : BoxedKind::kPositiveBig,
                                value->words.size()));
    words_.insert(words_.end(), value->words.begin(), value->words.end());
    return whole(at, words_);
}

HeapParser::Parsed HeapParser::map(TextCursor& text, std::uint64_t at) {
    const char kind = text.peek();
    text.skip(kind == '\0' ? 0 : 1);
    if (kind == 'f') {
        return flat_map(text, at);
    }
    if (kind != 'h' && kind != 'n') {
        return Outcome::kMalformed;
    }
    const bool head = kind == 'h';
    std::optional<std::uint64_t> pairs = 0;
    if (head) {
        pairs = text.take_hex();
        if (!pairs || !text.take(':')) {
            return Outcome::kMalformed;
        }
    }
    const auto items = text.take_hex();
    constexpr std::uint64_t kMaxItems = 16;
    if (!items || *items > kMaxItems || !text.take(':')) {
        return Outcome::kMalformed;
    }
    const auto first = head ? otp25::kHashHeadItems : otp25::kHashNodeItems;
    auto parsed = elements(text, at, first, *items);
    if (!parsed || *parsed != Outcome::kDone) {
        return parsed;
    }
    auto done =
        image_.put(at, {format_.words.map_header(
                           head ? BoxedKind::kHashMapHead : BoxedKind::kHashMapNode, *items)});
    if (done && head) {
        done = image_.put(at + kHeapWordBytes, {*pairs});
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    image_.begin(at, ObjectStart::kBoxed);
    return Outcome::kDone;
}

HeapParser::Parsed HeapParser::flat_map(TextCursor& text, std::uint64_t at) {
    const auto size = text.take_hex();
    if (!size || *size > otp25::kMaxFlatMapSize || !text.take(':')) {
        return Outcome::kMalformed;
    }
    const auto keys = take_element(text, format_, names_);
    if (!keys || !text.take(':')) {
        return Outcome::kMalformed;
    }
    auto parsed = elements(text, at, otp25::kFlatMapValues, *size);
    if (!parsed || *parsed != Outcome::kDone) {
        return parsed;
    }
    // The arity of a small map's header counts all its words but the header and one (erl_map.h).
    constexpr unsigned kTypeBits = 2;
    auto done =
        image_.put(at, {format_.words.header(BoxedKind::kFlatMap, std::uint64_t{1} << kTypeBits)});
    if (done) {
        done = image_.put(at + otp25::kFlatMapSize * kHeapWordBytes, {*size});
    }
    if (done) {
        done = image_.put(at + otp25::kFlatMapKeys * kHeapWordBytes, *keys);
    }
    if (!done) {
        return std::unexpected(done.error());
    }
    image_.begin(at, ObjectStart::kBoxed);
    return Outcome::kDone;
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

HeapParser::Parsed HeapParser::identifier(TextCursor& text, std::uint64_t at, bool pid) {
    const auto numbers = take_identifier(text);
    if (!numbers || !text.is_line_end()) {
        return Outcome::kMalformed;
    }
    constexpr unsigned kSerialShift = 32;
    const std::array words = {
        format_.words.header(pid ? BoxedKind::kExternalPid : BoxedKind::kExternalPort,
                             otp25::kExternalData),
        names_.node_of_channel(numbers->channel), std::uint64_t{0},
        pid ? numbers->number | numbers->serial << kSerialShift : numbers->number};
    return whole(at, words);
}

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

/// `count` elements with commas between them, behind `before` other words of the object at
/// `object`.
HeapParser::Parsed HeapParser::elements(TextCursor& text, std::uint64_t object,
                                        std::uint64_t before, std::uint64_t count) {
    ASSIGN_OR_RETURN(const auto room, has_room(object, before + count));
    if (!room) {
        text.skip_to_line_end();
        return Outcome::kOverlap;
    }
    const auto at = object + before * kHeapWordBytes;
    for (std::uint64_t index = 0; index < count; ++index) {
        if (index != 0 && !text.take(',')) {
            return Outcome::kMalformed;
        }
        const auto element = take_element(text, format_, names_);
        if (!element) {
            return Outcome::kMalformed;
        }
        RETURN_IF_ERROR(image_.put(at + index * kHeapWordBytes, *element));
    }
    return text.is_line_end() ? Outcome::kDone : Outcome::kMalformed;
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

Result<void> HeapParser::put(std::uint64_t at, std::span<const std::uint64_t> words) {
    for (const auto word : words) {
        RETURN_IF_ERROR(image_.put(at, {word}));
        at += kHeapWordBytes;
    }
    return {};
}

Result<void> HeapParser::put_words(std::uint64_t at, std::span<const WordImage::Word> words) {
    for (const auto& word : words) {
        RETURN_IF_ERROR(image_.put(at, word));
        at += kHeapWordBytes;
    }
    return {};
}

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

}  // namespace beamdump::crash
