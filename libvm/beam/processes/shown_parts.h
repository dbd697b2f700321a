#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/off_heap.h>

#include <array>
#include <compare>
#include <span>
#include <vector>

namespace beamdump::beam {

/// Bytes of a Binary, counted from its first one.
struct ShownPart {
    std::uint64_t first_byte = 0;
    std::uint64_t bytes = 0;
    bool operator==(const ShownPart&) const = default;
};

/// Finds which parts of Binaries an owner's sub binaries show (ErlSubBin up to OTP 26; ErlSubBits
/// from 27 on, which match contexts are too; erl_bits.h). Their words are searched for headers, so
/// dead objects are found as well, and what only looks like one; none of these leads beyond the
/// binaries that the owner's off-heap lists have. Memory: 32 bytes a sub binary, of at most
/// HeldSizes::binary_slots / kSlotsOfASub.
class ShownParts {
  public:
    /// Parts that are kept of one thing that refers to a Binary, those at the lowest addresses.
    static constexpr std::size_t kMostOfAThing = 80;
    static constexpr std::size_t kSlotsOfASub = 8;

    static Result<ShownParts> open(Vm& vm);

    /// Takes the sub binaries in words from `begin` on. Pieces of one region follow one another.
    void look(Address begin, std::span<const std::byte> words);

    /// What the sub binaries found so far, and the thing itself, show of a Binary. Valid until the
    /// next call.
    std::span<const ShownPart> of(const BinaryReference& reference);

    void clear();

  private:
    /// From bit to bit behind `base`; 0: behind the first byte that the thing shows.
    struct Sub {
        Address thing = 0;
        std::uint64_t begin = 0, end = 0;
        Address base = 0;
        auto operator<=>(const Sub&) const = default;
    };
    /// How many sub binaries of a thing were taken, of things that are met again and again.
    struct Taken {
        Address thing = 0;
        std::size_t subs = 0;
    };
    static constexpr std::size_t kWords = otp25::kSubWords;
    static_assert(otp27::kSubWords == kWords);

    ShownParts(bool bits, std::uint64_t header, const Field& content, std::size_t most)
        : bits_(bits), header_(header), content_(content), most_(most) {}
    void search(std::span<const std::byte> words);
    void take(const std::array<std::uint64_t, kWords>& words);

    bool bits_;             // ErlSubBits, not ErlSubBin
    std::uint64_t header_;  // of either
    Field content_;         // of a Binary
    std::size_t most_;      // subs_ that are kept
    std::vector<Sub> subs_;
    bool sorted_ = true;
    std::array<Taken, 256> taken_{};  // by a hash of the thing's address
    std::vector<ShownPart> parts_;
    Address next_ = 0;             // behind the words of the last call
    std::vector<std::byte> tail_;  // the last of these words, in which an object may begin
};

}  // namespace beamdump::beam
