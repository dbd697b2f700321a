#pragma once

#include <libdump/term/term_scheme.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump::redact {

/// The fields of a sub binary's word otp25::kSubBits: bit size, bit offset and is_writable. What
/// follows is the compiler's padding, which may hold anything.
inline constexpr std::uint64_t kSubBitsMask = 0xFF'FFFF;

/// What an object had in place of the address of its copy, in the words of a process in the middle
/// of a collection (schemas/dump-format.md, 5.5).
class MovedHeaders {
  public:
    explicit MovedHeaders(const TagScheme& scheme) : scheme_(scheme) {}
    MovedHeaders(const MovedHeaders&) = delete;
    MovedHeaders& operator=(const MovedHeaders&) = delete;
    virtual ~MovedHeaders() = default;

    /// Whether the collection copies objects to that address.
    [[nodiscard]] virtual bool is_target(std::uint64_t address) const = 0;

    /// The header of the object at `original`, whose copy is at `copy`; nullopt: it cannot be told.
    std::optional<std::uint64_t> header(std::uint64_t original, std::uint64_t copy);

    /// Whether a header could not be told: the words behind it were overwritten.
    [[nodiscard]] bool any_unknown() const { return any_unknown_; }

  protected:
    /// The words from `address` on, as they are in memory or in the dump; how many there are.
    virtual std::size_t words(std::uint64_t address, std::span<std::uint64_t> into) = 0;

  private:
    TagScheme scheme_;
    bool any_unknown_ = false;
};

/// As MovedHeaders::header(), from the first words of both (five, or all that follow). The copy has
/// the header; but up to OTP 26 a short sub binary becomes a heap binary when it is moved
/// (erl_gc.h, move_boxed()).
std::optional<std::uint64_t> header_before_move(const TagScheme& scheme,
                                                std::span<const std::uint64_t> original,
                                                std::span<const std::uint64_t> copy);

}  // namespace beamdump::redact
