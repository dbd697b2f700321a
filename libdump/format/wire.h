#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump {

/// A field of a serialized message, in protobuf's wire format.
struct WireField {
    enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
    std::uint32_t number = 0;
    Type type = Type::kVarint;
    std::span<std::byte>
        value;  ///< the varint, the fixed number, or the bytes without their length
};

/// The fields of a message one after the other, where the bytes are changed in place or only a few
/// fields matter. Groups, which proto3 does not have, count as malformed.
class WireReader {
  public:
    explicit WireReader(std::span<std::byte> message) : rest_(message) {}
    /// Nothing at the end. kCorrupt if the bytes are no message.
    Result<std::optional<WireField>> next();

  private:
    std::span<std::byte> rest_;
};

/// The number in a varint of at most ten bytes, all of it.
std::uint64_t varint_of(std::span<const std::byte> bytes);

/// Writes a number into all of `bytes`: a longer form than it needs, where it is shorter. False if
/// it does not fit.
bool put_varint(std::span<std::byte> bytes, std::uint64_t value);

/// Bytes of the varint that `bytes` begins with; 0 if it has no end.
std::size_t varint_bytes(std::span<const std::byte> bytes);

/// The last number that a message has for a field; nothing if it has none. kCorrupt as next().
Result<std::optional<std::uint64_t>> wire_number(std::span<std::byte> message,
                                                 std::uint32_t number);

}  // namespace beamdump
