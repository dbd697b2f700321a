#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump::coding {

/// A field of a protobuf message in wire format.
struct WireField {
    std::uint32_t number = 0;
    std::uint64_t value = 0;                      ///< of a varint
    std::optional<std::span<std::byte>> content;  ///< of a length-delimited field
};

/// Walks over the fields of a protobuf message that is not parsed, as its bytes are changed in
/// place. Groups, which proto3 does not have, count as malformed.
class WireFields {
  public:
    explicit WireFields(std::span<std::byte> message) : rest_(message) {}

    /// The next field; nullopt at the end, and where the message is malformed.
    std::optional<WireField> next();
    [[nodiscard]] bool malformed() const { return malformed_; }

  private:
    std::optional<std::uint64_t> varint();
    std::optional<std::span<std::byte>> take(std::uint64_t bytes);

    std::span<std::byte> rest_;
    bool malformed_ = false;
};

}  // namespace beamdump::coding
