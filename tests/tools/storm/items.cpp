#include "storm/items.h"

#include <libdump/term/binary_content.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <span>

namespace beamdump::storm {

namespace {

constexpr std::uint64_t kArity = 5;

std::uint64_t seed_of(std::uint64_t index, std::uint64_t version) {
    return (index * 2654435 + version * 40503 + 12345) & 0x7FF'FFFFU;
}

std::uint64_t cell_of(std::uint64_t index) {
    return 5ULL << 55U | index << 24U | ((index * 40503 + 7) & 0xFF'FFFFU);
}

}  // namespace

std::optional<std::uint64_t> cell_index(const TagScheme& scheme, std::uint64_t word) {
    if (word_kind(scheme, word) != WordKind::kSmall || small_value(word) < 0) {
        return std::nullopt;
    }
    const auto value = static_cast<std::uint64_t>(small_value(word));
    const std::uint64_t index = (value & ((1ULL << 55U) - 1)) >> 24U;
    return value == cell_of(index) ? std::optional(index) : std::nullopt;
}

std::optional<Item> ItemReader::read(const HeapObject& object) {
    if (object.is_cell || object.kind != BoxedKind::kTuple || object.words != kArity + 1 ||
        word_of(object, 1) != tag_) {
        return std::nullopt;
    }
    const std::uint64_t index = word_of(object, 2);
    const std::uint64_t version = word_of(object, 3);
    Item item;
    if (word_kind(scheme_, index) != WordKind::kSmall ||
        word_kind(scheme_, version) != WordKind::kSmall) {
        item.fault = fmt::format("the item's index is {:#x}, its version {:#x}", index, version);
        return item;
    }
    item.index = static_cast<std::uint64_t>(small_value(index));
    item.version = static_cast<std::uint64_t>(small_value(version));
    const std::uint64_t seed = seed_of(item.index, item.version);
    if (const auto last = word_of(object, 5); !is_small(last, seed)) {
        item.fault = fmt::format("item {} of version {} ends with {:#x}, not with {}", item.index,
                                 item.version, last, seed);
        return item;
    }
    words_ += object.words;
    if (const auto payload = word_of(object, 4); !is_payload(payload, item.index, seed)) {
        item.fault = fmt::format("item {} of version {} has wrong content at {:#x}", item.index,
                                 item.version, payload);
    }
    return item;
}

bool ItemReader::is_payload(std::uint64_t word, std::uint64_t index, std::uint64_t seed) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    switch (index % 16) {
        case 8:
            return is_bytes(word, seed, 6);
        case 9:
            return is_nested(word, seed);
        case 10:
            return is_float_list(word, seed);
        case 11:
            return pair(word, first, second) && is_large(first, BoxedKind::kPositiveBig, seed) &&
                   pair(second, first, second) && is_large(first, BoxedKind::kNegativeBig, seed) &&
                   second == scheme_.nil;
        case 12:
            return is_bytes(word, seed, 10);
        case 13:
            return is_map(word, seed);
        case 14:
            return is_fun(word, seed);
        case 15:
            if (index / 16 % 8 < 2) {
                return is_bytes(word, seed, 25);
            }
            return pair(word, first, second) && is_small(first, seed) && is_small(second, seed + 1);
        default:
            return is_sequence(word, seed, 10);
    }
}

bool ItemReader::is_small(std::uint64_t word, std::uint64_t value) const {
    return word_kind(scheme_, word) == WordKind::kSmall &&
           small_value(word) == static_cast<std::int64_t>(value);
}

bool ItemReader::is_sequence(std::uint64_t word, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t head = 0;
        if (!pair(word, head, word) || !is_small(head, first + i)) {
            return false;
        }
    }
    return word == scheme_.nil;
}

/// Of numbers that follow each other, 32 bits each.
bool ItemReader::is_bytes(std::uint64_t word, std::uint64_t first, std::uint64_t count) {
    constexpr std::size_t kMost = 25 * 4;
    std::array<std::uint8_t, kMost> bytes{};
    const auto object = word_kind(scheme_, word) == WordKind::kBoxed
                            ? heap_object(scheme_, reader_, word)
                            : std::nullopt;
    BinaryContent content;
    if (!object ||
        BinaryContent::resolve(scheme_, reader_, object->address, content) !=
            BinaryContent::Status::kFound ||
        content.whole_bytes() != count * 4 || content.trailing_bits() != 0) {
        return false;
    }
    words_ += object->words;
    const std::size_t here = content.octets(reader_, 0, std::span(bytes).first(count * 4));
    without_bytes_ += here < count * 4 ? 1 : 0;
    for (std::size_t i = 0; i < here; ++i) {
        const std::uint64_t number = first + i / 4;
        if (bytes[i] != static_cast<std::uint8_t>(number >> (24 - 8 * (i % 4)))) {
            return false;
        }
    }
    return here == count * 4 || content.binary() != 0;
}

/// {S, {S + 1, [S + 2 | S + 3]}}
bool ItemReader::is_nested(std::uint64_t word, std::uint64_t seed) {
    const auto outer = boxed(word, BoxedKind::kTuple);
    if (!outer || outer->words != 3 || !is_small(word_of(*outer, 1), seed)) {
        return false;
    }
    const auto inner = boxed(word_of(*outer, 2), BoxedKind::kTuple);
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    return inner && inner->words == 3 && is_small(word_of(*inner, 1), seed + 1) &&
           pair(word_of(*inner, 2), head, tail) && is_small(head, seed + 2) &&
           is_small(tail, seed + 3);
}

/// [S + 0.5, {S}]
bool ItemReader::is_float_list(std::uint64_t word, std::uint64_t seed) {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    if (!pair(word, head, tail)) {
        return false;
    }
    const auto number = boxed(head, BoxedKind::kFloat);
    return number &&
           std::bit_cast<double>(word_of(*number, 1)) == static_cast<double>(seed) + 0.5 &&
           pair(tail, head, tail) && is_tuple(head, seed, 1) && tail == scheme_.nil;
}

/// 2^70 + S and its negative.
bool ItemReader::is_large(std::uint64_t word, BoxedKind kind, std::uint64_t seed) {
    const auto number = boxed(word, kind);
    return number && number->words == 3 && word_of(*number, 1) == seed &&
           word_of(*number, 2) == 1U << 6U;
}

/// #{1 => S, 2 => [S + 1]}
bool ItemReader::is_map(std::uint64_t word, std::uint64_t seed) {
    const auto map = boxed(word, BoxedKind::kFlatMap);
    return map && word_of(*map, otp25::kFlatMapSize) == 2 &&
           is_tuple(word_of(*map, otp25::kFlatMapKeys), 1, 2) &&
           is_small(word_of(*map, otp25::kFlatMapValues), seed) &&
           is_sequence(word_of(*map, otp25::kFlatMapValues + 1), seed + 1, 1);
}

/// Its environment is {S, S + 1}. In OTP 27 a FunRef follows it (erl_fun.h).
bool ItemReader::is_fun(std::uint64_t word, std::uint64_t seed) {
    const auto fun = boxed(word, BoxedKind::kFun);
    bool found = false;
    for (std::uint64_t i = 0; fun && !found && i < fun->terms.count; ++i) {
        found = is_tuple(word_of(*fun, fun->terms.first + i), seed, 2);
    }
    return found;
}

bool ItemReader::is_tuple(std::uint64_t word, std::uint64_t first, std::uint64_t count) {
    const auto tuple = boxed(word, BoxedKind::kTuple);
    bool right = tuple && tuple->words == count + 1;
    for (std::uint64_t i = 0; right && i < count; ++i) {
        right = is_small(word_of(*tuple, i + 1), first + i);
    }
    return right;
}

bool ItemReader::pair(std::uint64_t word, std::uint64_t& head, std::uint64_t& tail) {
    if (word_kind(scheme_, word) != WordKind::kList) {
        return false;
    }
    const auto cell = heap_object(scheme_, reader_, word);
    words_ += 2;
    return cell && reader_.read_pair(cell->address, head, tail) == WordStatus::kHere;
}

std::optional<HeapObject> ItemReader::boxed(std::uint64_t word, BoxedKind kind) {
    if (word_kind(scheme_, word) != WordKind::kBoxed) {
        return std::nullopt;
    }
    auto object = heap_object(scheme_, reader_, word);
    if (!object || object->kind != kind) {
        return std::nullopt;
    }
    words_ += object->words;
    return object;
}

std::uint64_t ItemReader::word_of(const HeapObject& object, std::uint64_t number) {
    std::uint64_t word = 0;
    const auto status = reader_.read(object.address + number * kWordBytes, word);
    return status == WordStatus::kHere ? word : 0;
}

}  // namespace beamdump::storm
