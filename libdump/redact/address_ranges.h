#pragma once

#include <libdump/format/crash_regions.h>

#include <bitset>
#include <cstdint>

namespace beamdump::redact {

/// Where the node's memory is, in steps of 4 GiB. A word that points elsewhere is no pointer: it
/// may be text.
class AddressRanges {
  public:
    /// Adds the addresses from `begin` up to `end`, and those up to 4 GiB around them, which may be
    /// mapped while the node is read.
    void add(std::uint64_t begin, std::uint64_t end) {
        if (begin >= kEnd || begin >= end) {
            return;
        }
        const auto first = begin >> kShift;
        const auto last = (end < kEnd ? end - 1 : kEnd - 1) >> kShift;
        for (auto step = first == 0 ? 0 : first - 1; step <= last + 1 && step < kSteps; ++step) {
            steps_.set(step);
        }
    }
    /// Adds the addresses that the conversion of a crash dump makes up.
    void add_made_up() { made_up_ = true; }
    [[nodiscard]] bool has(std::uint64_t address) const {
        return address < kEnd ? steps_.test(address >> kShift)
                              : made_up_ && address >= kMadeUpAddresses && address < kMadeUpEnd;
    }

  private:
    static constexpr std::uint64_t kMadeUpEnd = kMadeUpAddresses + (std::uint64_t{1} << 56U);
    static constexpr unsigned kShift = 32;
    // Of user space: of 47 bits on x86-64, of 48 on aarch64. A process that asks for addresses of
    // more bits gets some (Linux' Documentation/arm64/memory.rst); no node does.
    static constexpr std::uint64_t kEnd = std::uint64_t{1} << 48U;
    static constexpr std::size_t kSteps = kEnd >> kShift;
    std::bitset<kSteps> steps_;
    bool made_up_ = false;
};

}  // namespace beamdump::redact
