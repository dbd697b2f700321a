#include "query/holders/pattern_match.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/heap_object.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace beamdump::query {

namespace {

using Kind = Pattern::Kind;

/// Nodes and pairs of one large map that are looked at: more than any map has, but for a torn heap.
constexpr std::uint64_t kMaxMapParts = 1UL << 28U;

bool matches_integer(const TagScheme& scheme, WordReader& reader, std::int64_t wanted,
                     std::uint64_t word) {
    if (word_kind(scheme, word) == WordKind::kSmall) {
        return small_value(word) == wanted;
    }
    if (word_kind(scheme, word) != WordKind::kBoxed) {
        return false;
    }
    const auto object = heap_object(scheme, reader, word);
    std::uint64_t magnitude = 0;
    const bool negative = object && object->kind == BoxedKind::kNegativeBig;
    if (!object || object->words != 2 || (!negative && object->kind != BoxedKind::kPositiveBig) ||
        reader.read(object->address + kWordBytes, magnitude) != WordStatus::kHere) {
        return false;
    }
    const auto as_wanted = static_cast<std::uint64_t>(wanted);
    return negative == (wanted < 0) && magnitude == (negative ? 0 - as_wanted : as_wanted);
}

bool matches_bytes(const TagScheme& scheme, WordReader& reader, const std::string& bytes,
                   std::uint64_t address) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme, reader, address, content) != BinaryContent::Status::kFound ||
        content.whole_bytes() != bytes.size() || content.trailing_bits() != 0) {
        return false;
    }
    std::array<std::uint8_t, 4096> block{};
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t got = content.octets(
            reader, at, std::span(block).first(std::min(block.size(), bytes.size() - at)));
        if (got == 0 || std::memcmp(block.data(), bytes.data() + at, got) != 0) {
            return false;
        }
        at += got;
    }
    return true;
}

bool is_binary(BoxedKind kind) {
    return kind == BoxedKind::kRefcBinary || kind == BoxedKind::kHeapBinary ||
           kind == BoxedKind::kSubBinary || kind == BoxedKind::kSubBits;
}

}  // namespace

std::optional<std::string> list_characters(const TagScheme& scheme, WordReader& reader,
                                           std::uint64_t word, std::size_t most) {
    constexpr std::int64_t kLargestCharacter = 0x10FFFF;
    std::string text;
    for (std::size_t count = 0; word != scheme.nil && count < most; ++count) {
        std::uint64_t head = 0;
        if (word_kind(scheme, word) != WordKind::kList ||
            reader.read_pair(pointer_of(word), head, word) != WordStatus::kHere ||
            word_kind(scheme, head) != WordKind::kSmall || small_value(head) < 0 ||
            small_value(head) > kLargestCharacter) {
            return std::nullopt;
        }
        append_utf8(text, static_cast<char32_t>(small_value(head)));
    }
    return text;
}

Result<PatternMatch> PatternMatch::make(AtomTable& atoms, const Pattern& pattern) {
    PatternMatch match(pattern);
    RETURN_IF_ERROR(match.resolve(atoms, pattern));
    return match;
}

Result<void> PatternMatch::resolve(AtomTable& atoms, const Pattern& pattern) {
    if (pattern.kind == Kind::kAtom && !atoms_.contains(pattern.text)) {
        ASSIGN_OR_RETURN(const auto index, atoms.index_of(pattern.text));
        if (index) {
            atoms_[pattern.text] = *index;
        } else if (std::ranges::find(unknown_, pattern.text) == unknown_.end()) {
            unknown_.push_back(pattern.text);
        }
    }
    for (const Pattern& item : pattern.items) {
        RETURN_IF_ERROR(resolve(atoms, item));
    }
    return {};
}

bool PatternMatch::matches(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                           std::uint64_t word) const {
    const WordKind kind = word_kind(scheme, word);
    switch (pattern.kind) {
        case Kind::kAny:
            return true;
        case Kind::kAtom: {
            const auto known = atoms_.find(pattern.text);
            return kind == WordKind::kAtom && known != atoms_.end() &&
                   table_index(word) == known->second;
        }
        case Kind::kInteger:
            return matches_integer(scheme, reader, pattern.integer, word);
        case Kind::kPid:
            return kind == WordKind::kPid &&
                   (pid_serial(scheme, word) << 32U | pid_number(scheme, word)) == pattern.owner_id;
        case Kind::kList:
            return matches_list(scheme, reader, pattern, word);
        case Kind::kText:
            if (kind == WordKind::kList || kind == WordKind::kNil) {
                return list_characters(scheme, reader, word, pattern.text.size() + 1) ==
                       pattern.text;
            }
            break;
        default:
            break;
    }
    return kind == WordKind::kBoxed && matches_boxed(scheme, reader, pattern, word);
}

bool PatternMatch::matches_boxed(const TagScheme& scheme, WordReader& reader,
                                 const Pattern& pattern, std::uint64_t word) const {
    const auto object = heap_object(scheme, reader, word);
    if (!object) {
        return false;
    }
    switch (pattern.kind) {
        case Kind::kTuple: {
            if (object->kind != BoxedKind::kTuple || object->words != pattern.items.size() + 1) {
                return false;
            }
            for (std::size_t i = 0; i < pattern.items.size(); ++i) {
                std::uint64_t element = 0;
                if (reader.read(object->address + (i + 1) * kWordBytes, element) !=
                        WordStatus::kHere ||
                    !matches(scheme, reader, pattern.items[i], element)) {
                    return false;
                }
            }
            return true;
        }
        case Kind::kFloat: {
            std::uint64_t bits = 0;
            return object->kind == BoxedKind::kFloat &&
                   reader.read(object->address + kWordBytes, bits) == WordStatus::kHere &&
                   std::bit_cast<double>(bits) == pattern.number;
        }
        case Kind::kText:
        case Kind::kBinary:
            return is_binary(object->kind) &&
                   matches_bytes(scheme, reader, pattern.text, object->address);
        case Kind::kMap:
            return (object->kind == BoxedKind::kFlatMap ||
                    object->kind == BoxedKind::kHashMapHead) &&
                   matches_map(scheme, reader, pattern, object->address);
        default:
            return false;
    }
}

bool PatternMatch::matches_list(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                                std::uint64_t word) const {
    const std::size_t cells = pattern.items.size() - (pattern.open_end ? 1 : 0);
    for (std::size_t i = 0; i < cells; ++i) {
        std::uint64_t head = 0;
        if (word_kind(scheme, word) != WordKind::kList ||
            reader.read_pair(pointer_of(word), head, word) != WordStatus::kHere ||
            !matches(scheme, reader, pattern.items[i], head)) {
            return false;
        }
    }
    return pattern.open_end ? matches(scheme, reader, pattern.items.back(), word)
                            : word == scheme.nil;
}

bool PatternMatch::matches_pair(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                                const Pattern& key, const Pattern& value) const {
    const auto object = boxed_object(scheme, reader, address);
    if (object && object->kind == BoxedKind::kFlatMap) {
        std::uint64_t size = 0;
        std::uint64_t keys = 0;
        if (reader.read(address + otp25::kFlatMapSize * kWordBytes, size) != WordStatus::kHere ||
            reader.read(address + otp25::kFlatMapKeys * kWordBytes, keys) != WordStatus::kHere) {
            return false;
        }
        for (std::uint64_t i = 0; i < std::min(size, otp25::kMaxFlatMapSize); ++i) {
            std::uint64_t one_key = 0;
            std::uint64_t one_value = 0;
            if (reader.read(pointer_of(keys) + (i + 1) * kWordBytes, one_key) ==
                    WordStatus::kHere &&
                reader.read(address + (otp25::kFlatMapValues + i) * kWordBytes, one_value) ==
                    WordStatus::kHere &&
                matches(scheme, reader, key, one_key) &&
                matches(scheme, reader, value, one_value)) {
                return true;
            }
        }
        return false;
    }
    std::vector<std::uint64_t> nodes = {address};
    for (std::uint64_t parts = 0; !nodes.empty() && parts < kMaxMapParts;) {
        const auto node = boxed_object(scheme, reader, nodes.back());
        nodes.pop_back();
        for (std::uint64_t i = 0; node && i < node->terms.count && parts < kMaxMapParts; ++i) {
            ++parts;
            std::uint64_t item = 0;
            std::uint64_t one_key = 0;
            std::uint64_t one_value = 0;
            if (reader.read(node->terms_address() + i * kWordBytes, item) != WordStatus::kHere) {
                break;
            }
            if (word_kind(scheme, item) == WordKind::kBoxed) {
                nodes.push_back(pointer_of(item));
            } else if (word_kind(scheme, item) == WordKind::kList &&
                       reader.read_pair(pointer_of(item), one_key, one_value) ==
                           WordStatus::kHere &&
                       matches(scheme, reader, key, one_key) &&
                       matches(scheme, reader, value, one_value)) {
                return true;
            }
        }
    }
    return false;
}

bool PatternMatch::matches_map(const TagScheme& scheme, WordReader& reader, const Pattern& pattern,
                               std::uint64_t address) const {
    for (std::size_t i = 0; i + 1 < pattern.items.size(); i += 2) {
        if (!matches_pair(scheme, reader, address, pattern.items[i], pattern.items[i + 1])) {
            return false;
        }
    }
    return true;
}

}  // namespace beamdump::query
