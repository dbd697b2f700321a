#include <libdump/term/heap_object.h>

#include <array>
#include <span>

namespace beamdump {

namespace {

using ObjectStart = std::array<std::uint64_t, kSizeWords>;
static_assert(kSizeWords >= otp25::kSubWords && kSizeWords >= otp27::kSubWords);

/// Words of the binary to which a sub binary is copied; nullopt if its original is missing.
std::optional<std::uint64_t> sub_binary_copy(const TagScheme& scheme, WordReader& reader,
                                             std::span<const std::uint64_t> words) {
    if (words.size() < otp25::kSubWords) {
        return std::nullopt;
    }
    const std::uint64_t bits =
        (words[otp25::kSubBits] & 0xFFU) + ((words[otp25::kSubBits] >> 8U) & 0xFFU);
    std::uint64_t header = 0;
    if (reader.read(pointer_of(words[otp25::kSubOriginal]), header) != WordStatus::kHere) {
        return std::nullopt;
    }
    const std::uint64_t shell = bits != 0 ? otp25::kSubWords : 0;
    if (boxed_kind(scheme, header) == BoxedKind::kRefcBinary) {
        return shell + scheme.refc_words;
    }
    const std::uint64_t extra = bits > 8 ? 2 : bits > 0 ? 1 : 0;
    const std::uint64_t bytes = words[otp25::kBinarySize];
    return shell + otp25::kHeapBinaryData + bytes / kWordBytes +
           (bytes % kWordBytes + extra + kWordBytes - 1) / kWordBytes;
}

/// Part of a bit string: a copy on the heap has only its bits.
void bits_copy(const TagScheme& scheme, WordReader& reader, std::span<const std::uint64_t> words,
               HeapObject& object) {
    std::uint64_t header = 0;
    if (words.size() < otp27::kSubWords ||
        reader.read(pointer_of(words[otp27::kSubOriginal]), header) != WordStatus::kHere) {
        object.whole = false;
        return;
    }
    object.over_heap_bits = boxed_kind(scheme, header) == BoxedKind::kHeapBinary;
    if (object.over_heap_bits) {
        const std::uint64_t bits = words[otp27::kSubEnd] - words[otp27::kSubStart];
        object.copy_words = otp25::kHeapBinaryData + (bits + 63) / 64;
    }
}

/// Its header says all of it.
std::optional<HeapObject> tuple(const TagScheme& scheme, std::uint64_t address,
                                std::uint64_t header) {
    const auto size = boxed_words(scheme, std::span(&header, 1));
    if (!size) {
        return std::nullopt;
    }
    HeapObject object;
    object.address = address;
    object.header = header;
    object.kind = BoxedKind::kTuple;
    object.words = *size;
    object.copy_words = *size == 1 && !scheme.empty_tuple_is_copied ? 0 : *size;
    object.terms = {1, *size - 1};
    return object;
}

}  // namespace

std::optional<HeapObject> boxed_object(const TagScheme& scheme, WordReader& reader,
                                       std::uint64_t address) {
    std::uint64_t header = 0;
    if (reader.read(address, header) != WordStatus::kHere) {
        return std::nullopt;
    }
    // Most are: this takes a good part of the time of a walk.
    if (boxed_kind(scheme, header) == BoxedKind::kTuple) {
        return tuple(scheme, address, header);
    }
    ObjectStart start{header};
    std::size_t here = 1;
    while (here < start.size() &&
           reader.read(address + here * kWordBytes, start[here]) == WordStatus::kHere) {
        ++here;
    }
    const auto words = std::span(start).first(here);
    const auto size = boxed_words(scheme, words);
    if (!size) {
        return std::nullopt;
    }
    HeapObject object;
    object.address = address;
    object.header = start[0];
    object.kind = boxed_kind(scheme, start[0]);
    object.words = *size;
    object.copy_words = *size;
    object.terms = boxed_terms(scheme, words).value_or(TermRange{});
    if (object.kind == BoxedKind::kSubBinary) {
        const auto copy = sub_binary_copy(scheme, reader, words);
        object.copy_words = copy.value_or(0);
        object.whole = copy.has_value();
    } else if (object.kind == BoxedKind::kSubBits) {
        bits_copy(scheme, reader, words, object);
    }
    return object;
}

std::optional<HeapObject> heap_object(const TagScheme& scheme, WordReader& reader,
                                      std::uint64_t word) {
    const std::uint64_t address = pointer_of(word);
    if (word_kind(scheme, word) == WordKind::kBoxed) {
        return boxed_object(scheme, reader, address);
    }
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    if (word_kind(scheme, word) != WordKind::kList ||
        reader.read_pair(address, head, tail) != WordStatus::kHere) {
        return std::nullopt;
    }
    HeapObject cell;
    cell.address = address;
    cell.is_cell = true;
    cell.words = 2;
    cell.copy_words = 2;
    cell.terms = {0, 2};
    return cell;
}

}  // namespace beamdump
