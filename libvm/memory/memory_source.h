#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace beamdump::memory {

/// An address in the observed node. Never dereferenced here.
using Address = std::uint64_t;

/// No address at or above this belongs to a program: the kernel reads addresses as signed numbers.
inline constexpr Address kUserEnd = Address{1} << 63U;

struct MemoryStats {
    std::uint64_t bytes = 0;  ///< copied out of the target
    std::uint64_t reads = 0;  ///< system calls that did so
};

/// One of many small reads, done together (see read_batch).
struct BatchRead {
    Address address = 0;
    std::span<std::byte> into;
    bool done = false;  ///< set if all of `into` was filled
};

/// A source of bytes by address: a live process, a twin, a core. Not thread-safe.
class MemorySource {
  public:
    MemorySource() = default;
    MemorySource(const MemorySource&) = delete;
    MemorySource& operator=(const MemorySource&) = delete;
    virtual ~MemorySource() = default;

    /// Copies at least one and at most into.size() bytes from `address` on; returns how many (fewer
    /// if mapped memory ends). kUnmapped: nothing is there. kTargetDied: the target has exited.
    virtual Result<std::size_t> read_some(Address address, std::span<std::byte> into) = 0;

    /// Many small reads with few system calls. Sets done on those that succeeded; fails only when
    /// the target has exited.
    virtual Result<void> read_batch(std::span<BatchRead> reads);

    [[nodiscard]] virtual MemoryStats stats() const = 0;

    /// Another source of the same memory, for another thread; with statistics of its own. Null:
    /// this kind has none.
    virtual std::unique_ptr<MemorySource> second_source() { return nullptr; }

    /// Reads all of `into` or fails with address and size.
    Result<void> read(Address address, std::span<std::byte> into);

    /// One value of a trivially copyable type, at any alignment.
    template <typename T>
    Result<T> value(Address address) {
        static_assert(std::is_trivially_copyable_v<T>);
        T result{};
        auto done = read(address, std::as_writable_bytes(std::span(&result, 1)));
        if (!done) {
            return std::unexpected(done.error());
        }
        return result;
    }

    Result<std::uint64_t> word(Address address) { return value<std::uint64_t>(address); }
};

}  // namespace beamdump::memory
