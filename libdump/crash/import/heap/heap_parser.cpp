#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/heap_parser.h>
#include <libdump/crash/text/big_parser.h>
#include <libdump/format/crash_regions.h>

#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

namespace beamdump::crash {
namespace {

// Some milliseconds' work.
constexpr std::uint64_t kLinesATime = 4096;
constexpr std::uint64_t kMaxTuple = (1U << 24U) - 1;

/// Whether lines with that letter are objects.
bool names_object(char tag) {
    return std::string_view("ltFBMYPpER").contains(tag);
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

/// Whether an object of that size would overlap no other there.
Result<bool> HeapParser::has_room(std::uint64_t at, std::uint64_t words) {
    if (starts_ == Starts::kKnown && image_.begins_within(at, words)) {
        return false;
    }
    return image_.is_free(at, words);
}

/// A whole boxed object.
HeapParser::Parsed HeapParser::whole(std::uint64_t at, std::span<const std::uint64_t> words) {
    ASSIGN_OR_RETURN(const auto room, has_room(at, words.size()));
    return room ? boxed(at, words) : Parsed(Outcome::kOverlap);
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

}  // namespace beamdump::crash
