#include "coding/wire_fields.h"

namespace beamdump::coding {
namespace {

// Wire types of protobuf's encoding.
constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kLengthDelimited = 2;
constexpr unsigned kFixed32 = 5;

}  // namespace

std::optional<std::uint64_t> WireFields::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
        const auto byte = std::to_integer<std::uint64_t>(rest_.front());
        rest_ = rest_.subspan(1);
        value |= (byte & 0x7FU) << shift;
        if (byte < 0x80U) {
            return value;
        }
    }
    return std::nullopt;
}

std::optional<std::span<std::byte>> WireFields::take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
        return std::nullopt;
    }
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
}

std::optional<WireField> WireFields::next() {
    if (rest_.empty() || malformed_) {
        return std::nullopt;
    }
    malformed_ = true;  // unless the field is whole
    const auto tag = varint();
    if (!tag) {
        return std::nullopt;
    }
    WireField field{.number = static_cast<std::uint32_t>(*tag >> 3U), .value = 0, .content = {}};
    switch (*tag & 7U) {
        case kVarint: {
            const auto value = varint();
            malformed_ = !value;
            field.value = value.value_or(0);
            break;
        }
        case kFixed64:
            malformed_ = !take(8);
            break;
        case kFixed32:
            malformed_ = !take(4);
            break;
        case kLengthDelimited: {
            const auto length = varint();
            field.content = length ? take(*length) : std::nullopt;
            malformed_ = !field.content;
            break;
        }
        default:
            break;
    }
    return malformed_ ? std::nullopt : std::optional(field);
}

}  // namespace beamdump::coding
