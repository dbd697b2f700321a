#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/wire.h>

namespace beamdump {
namespace {

constexpr std::size_t kMaxVarintBytes = 10;
constexpr unsigned kVarintBits = 7;
constexpr std::byte kMore{0x80};

std::unexpected<Error> no_message() {
    return fail(ErrorCode::kCorrupt, "a record of the dump is no message of the wire format");
}

/// Takes `bytes` from the front.
std::optional<std::span<std::byte>> take(std::span<std::byte>& from, std::uint64_t bytes) {
    if (bytes > from.size()) {
        return std::nullopt;
    }
    const auto taken = from.first(bytes);
    from = from.subspan(bytes);
    return taken;
}

std::optional<std::span<std::byte>> take_varint(std::span<std::byte>& from) {
    const auto bytes = varint_bytes(from);
    return bytes == 0 ? std::nullopt : take(from, bytes);
}

}  // namespace

std::size_t varint_bytes(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size() && at < kMaxVarintBytes; ++at) {
        if ((bytes[at] & kMore) == std::byte{0}) {
            return at + 1;
        }
    }
    return 0;
}

std::uint64_t varint_of(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (std::size_t at = bytes.size(); at-- > 0;) {
        value = value << kVarintBits | std::to_integer<std::uint64_t>(bytes[at] & ~kMore);
    }
    return value;
}

bool put_varint(std::span<std::byte> bytes, std::uint64_t value) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const auto low = static_cast<std::byte>(value) & ~kMore;
        bytes[at] = at + 1 < bytes.size() ? low | kMore : low;
        value >>= kVarintBits;
    }
    return value == 0;
}

Result<std::optional<WireField>> WireReader::next() {
    if (rest_.empty()) {
        return std::nullopt;
    }
    const auto tag = take_varint(rest_);
    if (!tag) {
        return no_message();
    }
    constexpr unsigned kTypeBits = 3;
    const auto key = varint_of(*tag);
    WireField field;
    field.number = static_cast<std::uint32_t>(key >> kTypeBits);
    field.type = static_cast<WireField::Type>(key & ((1U << kTypeBits) - 1));
    std::optional<std::span<std::byte>> value;
    switch (field.type) {
        case WireField::Type::kVarint:
            value = take_varint(rest_);
            break;
        case WireField::Type::kFixed64:
            value = take(rest_, sizeof(std::uint64_t));
            break;
        case WireField::Type::kFixed32:
            value = take(rest_, sizeof(std::uint32_t));
            break;
        case WireField::Type::kBytes:
            if (const auto length = take_varint(rest_)) {
                value = take(rest_, varint_of(*length));
            }
            break;
    }
    if (!value || field.number == 0 || key >> kTypeBits != field.number) {
        return no_message();
    }
    field.value = *value;
    return field;
}

Result<std::optional<std::uint64_t>> wire_number(std::span<std::byte> message,
                                                 std::uint32_t number) {
    std::optional<std::uint64_t> found;
    for (WireReader reader(message);;) {
        ASSIGN_OR_RETURN(const auto field, reader.next());
        if (!field) {
            return found;
        }
        if (field->number == number && field->type == WireField::Type::kVarint) {
            found = varint_of(field->value);
        }
    }
}

}  // namespace beamdump
