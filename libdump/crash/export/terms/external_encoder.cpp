#include <libdump/crash/export/terms/external_encoder.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/external_tags.h>
#include <libdump/term/record_definition.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>

namespace beamdump::crash {

namespace {

namespace tags = external_tag;

constexpr std::uint64_t kHalf = 0xFFFF'FFFFU;

/// The numbers in "<0.1.2>", "#Port<0.1>", "#Ref<0.1.2.3>", the channel first; nullopt for
/// placeholders.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view text) {
    const auto open = text.find('<');
    if (open == std::string_view::npos || !text.ends_with('>') ||
        (open != 0 && !text.starts_with("#Port<") && !text.starts_with("#Ref<"))) {
        return std::nullopt;
    }
    std::vector<std::uint64_t> numbers;
    const char* at = text.data() + open;
    const char* const end = text.data() + text.size() - 1;
    while (at != end) {
        std::uint64_t& number = numbers.emplace_back();
        const auto done = std::from_chars(at + 1, end, number);
        if (done.ec != std::errc() || (done.ptr != end && *done.ptr != '.')) {
            return std::nullopt;
        }
        at = done.ptr;
    }
    return numbers;
}

}  // namespace

std::optional<std::span<const std::uint8_t>> ExternalEncoder::encode(std::uint64_t word) {
    bytes_.assign(1, kExternalVersion);
    if (!term(word, 0)) {
        return std::nullopt;
    }
    return bytes_;
}

std::optional<std::span<const std::uint8_t>> ExternalEncoder::encode_atom(std::uint64_t index) {
    bytes_.assign(1, kExternalVersion);
    if (!atom(index)) {
        return std::nullopt;
    }
    return bytes_;
}

bool ExternalEncoder::term(std::uint64_t word, unsigned level) {
    if (!room() || level > kMaxLevels) {
        return false;
    }
    switch (word_kind(scheme_, word)) {
        case WordKind::kSmall:
            integer(small_value(word));
            return true;
        case WordKind::kAtom:
            return atom(table_index(word));
        case WordKind::kNil:
            put(tags::kNil, 1);
            return true;
        case WordKind::kPid:
        case WordKind::kPort:
            return identifier(word, nullptr);
        case WordKind::kList:
            return list(word, level);
        case WordKind::kBoxed:
            return boxed(word, level);
        default:
            return false;
    }
}

bool ExternalEncoder::boxed(std::uint64_t word, unsigned level) {
    const auto object = heap_object(scheme_, reader_, word);
    if (!object) {
        return false;
    }
    switch (object->kind) {
        case BoxedKind::kTuple:
            if (object->terms.count < 256) {
                put(tags::kSmallTuple, 1);
                put(object->terms.count, 1);
            } else {
                put(tags::kLargeTuple, 1);
                put(object->terms.count, 4);
            }
            return elements(*object, level);
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return big(*object);
        case BoxedKind::kFloat: {
            std::uint64_t bits = 0;
            put(tags::kNewFloat, 1);
            const bool here = read(object->address + kWordBytes, bits);
            put(bits, 8);
            return here;
        }
        case BoxedKind::kReference:
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
        case BoxedKind::kExternalReference:
            return identifier(word, &*object);
        case BoxedKind::kFun:
            return fun(*object);
        case BoxedKind::kRecord:
            return record(*object, level);
        case BoxedKind::kFlatMap:
            return flat_map(*object, level);
        case BoxedKind::kHashMapHead:
            return hash_map(*object, level);
        case BoxedKind::kRefcBinary:
        case BoxedKind::kHeapBinary:
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
        case BoxedKind::kMatchContext:
            return binary(*object);
        default:
            return false;
    }
}

bool ExternalEncoder::list(std::uint64_t word, unsigned level) {
    put(tags::kList, 1);
    const std::size_t length_at = bytes_.size();
    put(0, 4);
    std::uint32_t length = 0;
    while (word_kind(scheme_, word) == WordKind::kList) {
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        if (reader_.read_pair(pointer_of(word), head, tail) != WordStatus::kHere ||
            !term(head, level + 1)) {
            return false;
        }
        ++length;
        word = tail;
    }
    for (unsigned i = 0; i < 4; ++i) {
        bytes_[length_at + i] = static_cast<std::uint8_t>(length >> (24 - 8 * i));
    }
    return term(word, level + 1);
}

bool ExternalEncoder::elements(const HeapObject& object, unsigned level) {
    for (std::uint64_t i = 0; i < object.terms.count; ++i) {
        std::uint64_t word = 0;
        if (!read(object.terms_address() + i * kWordBytes, word) || !term(word, level + 1)) {
            return false;
        }
    }
    return true;
}

bool ExternalEncoder::flat_map(const HeapObject& object, unsigned level) {
    std::uint64_t size = 0;
    std::uint64_t keys = 0;
    if (!read(object.address + otp25::kFlatMapSize * kWordBytes, size) ||
        !read(object.address + otp25::kFlatMapKeys * kWordBytes, keys)) {
        return false;
    }
    put(tags::kMap, 1);
    put(size, 4);
    for (std::uint64_t i = 0; i < size; ++i) {
        std::uint64_t key = 0;
        std::uint64_t value = 0;
        if (!read(pointer_of(keys) + (i + 1) * kWordBytes, key) ||
            !read(object.address + (otp25::kFlatMapValues + i) * kWordBytes, value) ||
            !term(key, level + 1) || !term(value, level + 1)) {
            return false;
        }
    }
    return true;
}

bool ExternalEncoder::hash_map(const HeapObject& object, unsigned level) {
    std::uint64_t size = 0;
    if (!read(object.address + kWordBytes, size)) {
        return false;
    }
    put(tags::kMap, 1);
    put(size, 4);
    return hash_items(object, level);
}

/// A large map's nodes: pairs are cells, inner nodes and collisions are boxed.
bool ExternalEncoder::hash_items(const HeapObject& object, unsigned level) {
    if (level > kMaxLevels) {
        return false;
    }
    for (std::uint64_t i = 0; i < object.terms.count; ++i) {
        std::uint64_t word = 0;
        if (!read(object.terms_address() + i * kWordBytes, word)) {
            return false;
        }
        const auto item = heap_object(scheme_, reader_, word);
        if (!item) {
            return false;
        }
        if (!item->is_cell) {
            if (!hash_items(*item, level + 1)) {
                return false;
            }
            continue;
        }
        if (!elements(*item, level)) {
            return false;
        }
    }
    return true;
}

bool ExternalEncoder::fun(const HeapObject& object) {
    std::array<std::uint64_t, otp25::kFunEnvironment> words{};
    for (std::uint64_t i = 0; i < fun_head_words(scheme_); ++i) {
        if (!read(object.address + i * kWordBytes, words[i])) {
            return false;
        }
    }
    const std::uint64_t entry = words[otp25::kFunEntry];
    if (is_external_fun(scheme_, words)) {
        const auto function = reader_.context().export_at(entry);
        if (!function) {
            return false;
        }
        put(tags::kExport, 1);
        const bool named = atom(function->module_atom) && atom(function->function_atom);
        integer(function->arity);
        return named;
    }
    const auto found = node_.funs.find(entry);
    // A converted dump lacks a fun's unique number; it has only the printed numbers.
    constexpr std::size_t kUniqBytes = 16;
    if (found == node_.funs.end() ||
        (found->second.uniq.size() != kUniqBytes && !node_.of_crash_dump)) {
        return false;
    }
    FunEntry of = found->second;
    of.uniq.resize(kUniqBytes);
    // In OTP 27 the header has the arity where that of OTP 25 has the size.
    std::uint64_t arity = words[0] >> 8U;
    if (!scheme_.fun_in_header && !read(object.address + otp25::kFunCounts * kWordBytes, arity)) {
        return false;
    }
    arity &= 0xFFU;
    std::uint64_t free = object.words - scheme_.fun_environment;
    if (scheme_.fun_in_header && !scheme_.fun_kind_in_header && free > 0) {
        --free;  // the FunRef
    }
    put(tags::kNewFun, 1);
    const std::size_t begin = bytes_.size();
    put(0, 4);
    put(arity, 1);
    bytes_.insert(bytes_.end(), of.uniq.begin(), of.uniq.end());
    put(of.index, 4);
    put(free, 4);
    if (!atom(of.module_atom)) {
        return false;
    }
    integer(of.old_index);
    integer(of.old_uniq);
    std::uint64_t creator_word = 0;
    if (scheme_.fun_creator != 0 && !node_.of_crash_dump &&
        !read(object.address + scheme_.fun_creator * kWordBytes, creator_word)) {
        return false;
    }
    if (!creator(creator_word)) {
        return false;
    }
    bytes_.insert(bytes_.end(), free, tags::kNil);
    const std::uint64_t size = bytes_.size() - begin;
    for (unsigned i = 0; i < 4; ++i) {
        bytes_[begin + i] = static_cast<std::uint8_t>(size >> (24 - 8 * i));
    }
    return true;
}

/// The creator of a fun. From OTP 27 on funs do not have it: the VM then writes init.
bool ExternalEncoder::creator(std::uint64_t word) {
    if (word != 0) {
        return term(word, 0);
    }
    put(tags::kNewPid, 1);
    atom_text(node_.self.name);
    put(0, 8);
    put(node_.self.creation, 4);
    return true;
}

bool ExternalEncoder::identifier(std::uint64_t word, const HeapObject* external) {
    constexpr std::size_t kLongest = 256;
    std::string text;
    printer_.start(word);
    printer_.next(kLongest, text);
    const auto numbers = printer_.done() ? numbers_of(text) : std::nullopt;
    if (!numbers || numbers->size() < 2 || numbers->size() > 7) {
        return false;
    }
    NodeName node = node_.self;
    if (external != nullptr && external->kind != BoxedKind::kReference) {
        std::uint64_t address = 0;
        if (!read(external->address + otp25::kExternalNode * kWordBytes, address)) {
            return false;
        }
        const auto info = reader_.context().node_at(address);
        const auto name = info ? reader_.context().atom(info->name_atom) : std::nullopt;
        if (!name) {
            return false;
        }
        node = {*name, info->creation};
    }
    const std::span own = std::span(*numbers).subspan(1);
    if (text.starts_with("#Ref<")) {
        put(tags::kNewerReference, 1);
        put(own.size(), 2);
    } else {
        put(text.starts_with("#Port<") ? tags::kV4Port : tags::kNewPid, 1);
    }
    atom_text(node.name);
    if (text.starts_with("#Ref<")) {
        // Printed highest first.
        put(node.creation, 4);
        std::for_each(own.rbegin(), own.rend(), [this](std::uint64_t n) { put(n, 4); });
    } else if (text.starts_with("#Port<")) {
        put(own[0], 8);
        put(node.creation, 4);
    } else {
        std::ranges::for_each(own, [this](std::uint64_t n) { put(n & kHalf, 4); });
        put(node.creation, 4);
    }
    return true;
}

bool ExternalEncoder::binary(const HeapObject& object) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
            BinaryContent::Status::kFound ||
        !content.is_whole() || content.whole_bytes() >= kMaxBytes) {
        return false;
    }
    const unsigned bits = content.trailing_bits();
    put(bits == 0 ? tags::kBinary : tags::kBitBinary, 1);
    put(content.whole_bytes() + (bits == 0 ? 0 : 1), 4);
    if (bits != 0) {
        put(bits, 1);
    }
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + content.whole_bytes());
    if (content.octets(reader_, 0, std::span(bytes_).subspan(begin)) != content.whole_bytes()) {
        return false;
    }
    if (bits != 0) {
        put(content.trailing_value(reader_) << (8 - bits), 1);
    }
    return true;
}

/// A native record: keys and values in the order of their declaration, which its definition has.
bool ExternalEncoder::record(const HeapObject& object, unsigned level) {
    const auto slot = [this](std::uint64_t address, std::uint64_t index) {
        std::uint64_t word = scheme_.non_value;
        return read(address + index * kWordBytes, word) ? word : scheme_.non_value;
    };
    const std::uint64_t fields = object.words - otp29::kRecordValues;
    const std::uint64_t definition = pointer_of(slot(object.address, otp29::kRecordDefinition));
    const std::uint64_t order = pointer_of(slot(definition, otp29::kDefinitionOrder));
    const std::uint64_t exported = slot(definition, otp29::kDefinitionExported);
    if (word_kind(scheme_, exported) != WordKind::kAtom || fields > kMaxBytes) {
        return false;
    }
    put(tags::kRecord, 1);
    put(fields, 4);
    put(reader_.context().atom(static_cast<std::uint32_t>(table_index(exported))) == "true" ? 1 : 0,
        1);
    if (!atom_word(slot(definition, otp29::kDefinitionModule)) ||
        !atom_word(slot(definition, otp29::kDefinitionName))) {
        return false;
    }
    const auto place = [&](std::uint64_t field) {
        const std::uint64_t word = slot(order, field + 1);
        return word_kind(scheme_, word) == WordKind::kSmall
                   ? static_cast<std::uint64_t>(small_value(word))
                   : fields;
    };
    for (std::uint64_t i = 0; i < fields; ++i) {
        if (place(i) >= fields || !room() ||
            !atom_word(slot(definition, otp29::kDefinitionKeys + place(i)))) {
            return false;
        }
    }
    for (std::uint64_t i = 0; i < fields; ++i) {
        if (!term(slot(object.address, otp29::kRecordValues + place(i)), level + 1)) {
            return false;
        }
    }
    return true;
}

bool ExternalEncoder::atom(std::uint64_t index) {
    const auto& entry = printer_.atoms().at(index);
    if (entry.known) {
        atom_text(entry.name);
    }
    return entry.known;
}

bool ExternalEncoder::atom_word(std::uint64_t word) {
    return word_kind(scheme_, word) == WordKind::kAtom && atom(table_index(word));
}

void ExternalEncoder::atom_text(std::string_view name) {
    if (name.size() < 256) {
        put(tags::kSmallAtomUtf8, 1);
        put(name.size(), 1);
    } else {
        put(tags::kAtomUtf8, 1);
        put(name.size(), 2);
    }
    bytes_.insert(bytes_.end(), name.begin(), name.end());
}

void ExternalEncoder::integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
        put(tags::kSmallInteger, 1);
        put(static_cast<std::uint64_t>(value), 1);
    } else if (value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max()) {
        put(tags::kInteger, 1);
        put(static_cast<std::uint64_t>(value) & kHalf, 4);
    } else {
        const auto bits = static_cast<std::uint64_t>(value);
        const std::uint64_t magnitude = value < 0 ? ~bits + 1 : bits;
        put(tags::kSmallBig, 1);
        put(8, 1);
        put(value < 0 ? 1 : 0, 1);
        put(std::byteswap(magnitude), 8);
    }
}

bool ExternalEncoder::big(const HeapObject& object) {
    const std::uint64_t bytes = (object.words - 1) * kWordBytes;
    if (bytes >= kMaxBytes) {
        return false;
    }
    if (bytes < 256) {
        put(tags::kSmallBig, 1);
        put(bytes, 1);
    } else {
        put(tags::kLargeBig, 1);
        put(bytes, 4);
    }
    put(object.kind == BoxedKind::kNegativeBig ? 1 : 0, 1);
    for (std::uint64_t i = 1; i < object.words; ++i) {
        std::uint64_t word = 0;
        if (!read(object.address + i * kWordBytes, word)) {
            return false;
        }
        put(std::byteswap(word), 8);
    }
    return true;
}

void ExternalEncoder::put(std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) {
        bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
}

bool ExternalEncoder::room() {
    return bytes_.size() < kMaxBytes;
}

}  // namespace beamdump::crash
