#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace beamdump {

// The format is little-endian and its fixed structures are copied as they are in memory.
static_assert(std::endian::native == std::endian::little);

/// A structure's bytes, as they are in a dump.
template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return std::as_bytes(std::span(&value, 1));
}

/// Copies a structure out of `bytes` at any alignment; nullopt if they are too few.
template <typename T>
std::optional<T> load(std::span<const std::byte> bytes, std::size_t offset = 0) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
        return std::nullopt;
    }
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

/// The value at `offset`; the caller has checked that the bytes are enough.
template <typename T>
T load_known(std::span<const std::byte> bytes, std::size_t offset = 0) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, bytes.subspan(offset, sizeof(T)).data(), sizeof(T));
    return value;
}

/// Copies a structure into `bytes` at `offset`; the caller has checked that it fits.
template <typename T>
void store(std::span<std::byte> bytes, std::size_t offset, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(bytes.subspan(offset, sizeof(T)).data(), &value, sizeof(T));
}

}  // namespace beamdump
