#pragma once

#include <libvm/beam/layout/layout.h>
#include <libvm/memory/memory_source.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace beamdump::beam {

using memory::Address;

/// Bytes of one structure, copied out of the node. Fields must lie inside them.
class StructView {
  public:
    explicit StructView(std::span<const std::byte> bytes) : bytes_(bytes) {}

    /// A field of 1 to 8 bytes as an unsigned number.
    [[nodiscard]] std::uint64_t get(Field field) const {
        // Layouts are checked: a field outside its structure is a bug in this program.
        if (std::size_t{field.offset} + field.bytes > bytes_.size() || field.bytes > 8) {
            std::abort();
        }
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + field.offset, field.bytes);
        return value;
    }
    [[nodiscard]] std::uint32_t u32(Field field) const {
        return static_cast<std::uint32_t>(get(field));
    }
    /// A word inside an array field.
    [[nodiscard]] std::uint64_t word(Field field, std::size_t index) const {
        return get(Field{static_cast<std::uint32_t>(field.offset + index * 8), 8});
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};

/// A structure that owns its bytes.
class OwnedStruct {
  public:
    static Result<OwnedStruct> read(memory::MemorySource& source, Address address,
                                    std::uint32_t bytes) {
        OwnedStruct result;
        result.bytes_.resize(bytes);
        if (auto done = source.read(address, result.bytes_); !done) {
            return std::unexpected(done.error());
        }
        return result;
    }
    [[nodiscard]] StructView view() const { return StructView(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

/// Reads `count` words from `address` on.
inline Result<std::vector<std::uint64_t>> read_words(memory::MemorySource& source, Address address,
                                                     std::size_t count) {
    std::vector<std::uint64_t> words(count);
    if (auto done = source.read(address, std::as_writable_bytes(std::span(words))); !done) {
        return std::unexpected(done.error());
    }
    return words;
}

}  // namespace beamdump::beam
