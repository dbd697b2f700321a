#include <libdump/crash/export/terms/term_export.h>
#include <libdump/format/crash_regions.h>
#include <libdump/heap/largest_terms.h>

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

namespace beamdump::crash {

namespace {

/// Decimal digits take quadratic time.
constexpr std::uint64_t kMaxDecimalWords = 1024;

/// A bit string of more bytes is written by address, as in the VM: from its first byte to its last
/// whole one.
constexpr std::uint64_t kMaxBytesInPlace = std::uint64_t{64} << 10U;

}  // namespace

TermExport::TermExport(TextOutput& out, TermContext& context, const TagScheme& scheme,
                       const NodeFacts& node)
    : out_(out),
      context_(context),
      scheme_(scheme),
      reader_(context),
      printer_(context, scheme),
      encoder_(reader_, scheme_, node, printer_),
      node_(node) {}

void TermExport::element(std::uint64_t word) {
    switch (word_kind(scheme_, word)) {
        case WordKind::kList:
        case WordKind::kBoxed:
            out_.put('H');
            out_.hex(node_address(pointer_of(word)));
            return;
        case WordKind::kSmall:
            out_.put('I');
            out_.signed_number(small_value(word));
            return;
        case WordKind::kNil:
            out_.put('N');
            return;
        case WordKind::kAtom:
            if (const auto& entry = printer_.atoms().at(table_index(word)); entry.known) {
                atom_element(static_cast<std::uint32_t>(table_index(word)), entry.name);
                return;
            }
            break;
        case WordKind::kPid:
            out_.put('P');
            printed(word);
            return;
        case WordKind::kPort:
            out_.put("p<0.");
            out_.number(port_number(scheme_, word));
            out_.put('>');
            return;
        default:
            break;
    }
    ++missing_;
    out_.put("H0");
}

bool TermExport::object(const HeapObject& object) {
    if (object.is_cell) {
        cell(object);
        return true;
    }
    switch (object.kind) {
        case BoxedKind::kTuple:
            begin(object);
            out_.put('t');
            out_.hex(object.terms.count);
            out_.put(':');
            elements(object.terms_address(), object.terms.count);
            out_.put('\n');
            return true;
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return big(object);
        case BoxedKind::kFloat:
            return number(object);
        case BoxedKind::kRefcBinary:
        case BoxedKind::kHeapBinary:
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
        case BoxedKind::kMatchContext:
            return binary(object);
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
            return identifier(object);
        case BoxedKind::kFlatMap:
            return flat_map(object);
        case BoxedKind::kHashMapHead:
        case BoxedKind::kHashMapNode:
            return hash_map(object);
        default:
            return external(object);
    }
}

std::optional<std::uint64_t> TermExport::original_of(const HeapObject& object) {
    if (object.is_cell ||
        (object.kind != BoxedKind::kSubBinary && object.kind != BoxedKind::kSubBits &&
         object.kind != BoxedKind::kMatchContext)) {
        return std::nullopt;
    }
    const auto slot = object.kind == BoxedKind::kSubBinary ? otp25::kSubOriginal
                      : object.kind == BoxedKind::kSubBits ? otp27::kSubOriginal
                                                           : otp25::kMatchOriginal;
    std::uint64_t word = 0;
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
            BinaryContent::Status::kFound ||
        content.binary() != 0 || content.bit_offset() != 0 || content.trailing_bits() != 0 ||
        reader_.read(object.address + slot * kWordBytes, word) != WordStatus::kHere) {
        return std::nullopt;
    }
    const auto original = boxed_object(scheme_, reader_, pointer_of(word));
    BinaryContent whole;
    if (!original || original->kind != BoxedKind::kHeapBinary ||
        BinaryContent::resolve(scheme_, reader_, original->address, whole) !=
            BinaryContent::Status::kFound ||
        !whole_bytes_of(whole)) {
        return std::nullopt;
    }
    return original->address;
}

void TermExport::atom_object(std::uint32_t index) {
    if (const auto encoded = encoder_.encode_atom(index)) {
        out_.hex(node_address(atom_object_address(index)));
        out_.put(':');
        external(*encoded);
    }
}

bool TermExport::leads_on(const HeapObject& object) {
    if (object.is_cell) {
        return true;
    }
    switch (object.kind) {
        case BoxedKind::kTuple:
        case BoxedKind::kFlatMap:
        case BoxedKind::kHashMapHead:
        case BoxedKind::kHashMapNode:
            return true;
        default:
            return false;
    }
}

void TermExport::printed(std::uint64_t word) {
    constexpr std::size_t kStep = 16384;
    std::string text;
    printer_.start(word);
    while (out_.ok() && printer_.next(kStep, text) > 0) {
        out_.put(text);
        text.clear();
    }
}

void TermExport::atom(std::uint32_t index) {
    out_.put(printer_.atoms().at(index).quoted);
}

void TermExport::function(const FunctionName& function) {
    atom(function.module_atom);
    out_.put(':');
    atom(function.function_atom);
    out_.put('/');
    out_.number(function.arity);
}

void TermExport::code(std::uint64_t address) {
    const auto location = context_.code_at(address);
    if (location && location->function) {
        function(*location->function);
        out_.put(" + ");
        out_.signed_number(static_cast<std::int64_t>(address - location->mfa_start));
    } else if (location && location->code_point && location->code_point->starts_with('<')) {
        out_.put(*location->code_point);
    } else {
        out_.put(address == 0 ? "invalid" : "unknown function");
    }
}

void TermExport::forget() {
    reader_.forget();
    printer_.forget();
}

void TermExport::atom_element(std::uint32_t index, std::string_view name) {
    if (has_line_break(name)) {
        atom_objects_used_ = true;
        out_.put('H');
        out_.hex(node_address(atom_object_address(index)));
        return;
    }
    out_.put('A');
    out_.hex(name.size());
    out_.put(':');
    out_.put(name);
}

void TermExport::begin(const HeapObject& object) {
    out_.hex(node_address(object.address));
    out_.put(':');
}

void TermExport::elements(std::uint64_t address, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count && out_.ok(); ++i) {
        if (i > 0) {
            out_.put(',');
        }
        std::uint64_t word = scheme_.non_value;
        if (reader_.read(address + i * kWordBytes, word) != WordStatus::kHere) {
            word = scheme_.non_value;
        }
        element(word);
    }
}

void TermExport::cell(const HeapObject& object) {
    std::uint64_t head = scheme_.non_value;
    std::uint64_t tail = scheme_.non_value;
    reader_.read_pair(object.address, head, tail);
    begin(object);
    out_.put('l');
    element(head);
    out_.put('|');
    element(tail);
    out_.put('\n');
}

bool TermExport::number(const HeapObject& object) {
    std::uint64_t bits = 0;
    if (reader_.read(object.address + kWordBytes, bits) != WordStatus::kHere) {
        return false;
    }
    begin(object);
    const std::string digits = fmt::format("{:.20e}", std::bit_cast<double>(bits));
    out_.put('F');
    out_.hex(digits.size());
    out_.put(':');
    out_.put(digits);
    out_.put('\n');
    return true;
}

bool TermExport::big(const HeapObject& object) {
    const std::uint64_t count = object.words - 1;
    std::uint64_t word = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        if (reader_.read(object.address + i * kWordBytes, word) != WordStatus::kHere) {
            return false;
        }
    }
    const bool negative = object.kind == BoxedKind::kNegativeBig;
    begin(object);
    if (count <= kMaxDecimalWords) {
        out_.put('B');
        printed(word_to(scheme_, object.address, false));
    } else {
        out_.put(negative ? "B-16#" : "B16#");
        for (std::uint64_t i = count; i >= 1; --i) {
            reader_.read(object.address + i * kWordBytes, word);
            out_.put(fmt::format("{:016X}", word));
        }
    }
    out_.put('\n');
    return true;
}

bool TermExport::binary(const HeapObject& object) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
        BinaryContent::Status::kFound) {
        return false;
    }
    if (const auto original = original_of(object)) {
        part(object, *original, content);
        return true;
    }
    if (object.kind == BoxedKind::kHeapBinary && content.trailing_bits() == 0) {
        return bytes(object, content);
    }
    const bool in_bytes = content.bit_offset() == 0 && content.trailing_bits() == 0;
    const bool short_and_here = content.is_whole() && content.whole_bytes() <= kMaxBytesInPlace;
    if (content.binary() == 0 || (!in_bytes && short_and_here)) {
        return external(object);
    }
    begin(object);
    // The words must be those of the kind, or fewer: readers of the text rely on it. A match
    // context of OTP 25 has five at least, as a sub binary has; a ProcBin has six.
    const bool has_five =
        object.kind == BoxedKind::kSubBinary || object.kind == BoxedKind::kMatchContext;
    out_.put(has_five ? "Ys" : "Yc");
    out_.hex(content.binary());
    out_.put(':');
    out_.hex(content.first_byte());
    out_.put(':');
    out_.hex(content.whole_bytes());
    out_.put('\n');
    return true;
}

/// Part of a binary on the heap, as the VM prints it: by that one's address.
void TermExport::part(const HeapObject& object, std::uint64_t original,
                      const BinaryContent& content) {
    begin(object);
    out_.put("Ys");
    out_.hex(node_address(original));
    out_.put(':');
    out_.hex(content.heap_address() - original - otp25::kHeapBinaryData * kWordBytes);
    out_.put(':');
    out_.hex(content.whole_bytes());
    out_.put('\n');
}

bool TermExport::bytes(const HeapObject& object, const BinaryContent& content) {
    const auto whole = whole_bytes_of(content);
    if (!whole) {
        return false;
    }
    begin(object);
    out_.put("Yh");
    out_.hex(whole->size());
    out_.put(':');
    Base64 base64(out_);
    base64.add(*whole);
    base64.finish();
    out_.put('\n');
    return true;
}

/// The bytes of a binary on the heap; nullopt unless all are in the dump.
std::optional<std::vector<std::uint8_t>> TermExport::whole_bytes_of(const BinaryContent& content) {
    if (content.whole_bytes() > kMaxBytesInPlace) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> bytes(content.whole_bytes());
    return content.octets(reader_, 0, bytes) == bytes.size() ? std::optional(std::move(bytes))
                                                             : std::nullopt;
}

/// A pid or port of another node.
bool TermExport::identifier(const HeapObject& object) {
    constexpr std::size_t kLongest = 256;
    std::string text;
    printer_.start(word_to(scheme_, object.address, false));
    printer_.next(kLongest, text);
    const std::size_t open = text.find('<');
    if (open == std::string::npos || text.find_first_of("?x") != std::string::npos) {
        return false;  // its node or its words are not in the dump
    }
    begin(object);
    out_.put(object.kind == BoxedKind::kExternalPid ? 'P' : 'p');
    out_.put(std::string_view(text).substr(open));
    out_.put('\n');
    return true;
}

bool TermExport::flat_map(const HeapObject& object) {
    std::uint64_t size = 0;
    std::uint64_t keys = 0;
    if (reader_.read(object.address + otp25::kFlatMapSize * kWordBytes, size) !=
            WordStatus::kHere ||
        reader_.read(object.address + otp25::kFlatMapKeys * kWordBytes, keys) !=
            WordStatus::kHere) {
        return false;
    }
    begin(object);
    out_.put("Mf");
    out_.hex(size);
    out_.put(':');
    element(keys);
    out_.put(':');
    elements(object.address + otp25::kFlatMapValues * kWordBytes, size);
    out_.put('\n');
    return true;
}

bool TermExport::hash_map(const HeapObject& object) {
    std::uint64_t size = 0;
    const bool head = object.kind == BoxedKind::kHashMapHead;
    if (head && reader_.read(object.address + kWordBytes, size) != WordStatus::kHere) {
        return false;
    }
    begin(object);
    out_.put(head ? "Mh" : "Mn");
    if (head) {
        out_.hex(size);
        out_.put(':');
    }
    out_.hex(object.terms.count);
    out_.put(':');
    elements(object.terms_address(), object.terms.count);
    out_.put('\n');
    return true;
}

bool TermExport::external(const HeapObject& object) {
    const auto encoded = encoder_.encode(word_to(scheme_, object.address, false));
    if (!encoded) {
        return false;
    }
    begin(object);
    external(*encoded);
    return true;
}

void TermExport::external(std::span<const std::uint8_t> encoded) {
    out_.put('E');
    out_.hex(encoded.size());
    out_.put(':');
    Base64 base64(out_);
    base64.add(encoded);
    base64.finish();
    out_.put('\n');
}

}  // namespace beamdump::crash
