#pragma once

#include <libvm/beam/vm/vm.h>

#include <optional>

namespace beamdump::beam {

/// The owner id (number and serial as printed in <0.Number.Serial>) of a local pid's word. If the
/// word has all of a pid's data (from OTP 27 on), its lowest bits are the slot instead.
struct PidWords {
    std::uint64_t tag = 0, shift = 0, number_bits = 0;
    std::uint64_t slots = 0;
    /// `slots`: of the process table.
    static Result<PidWords> resolve(const Layout& layout, std::uint32_t slots);
    static Result<PidWords> of(Vm& vm);
    [[nodiscard]] std::optional<std::uint64_t> owner_id(std::uint64_t word) const;
    /// The process's slot in the table. The word must be a pid.
    [[nodiscard]] std::uint64_t slot(std::uint64_t word) const;

  private:
    [[nodiscard]] bool holds_slot() const;
};

}  // namespace beamdump::beam
