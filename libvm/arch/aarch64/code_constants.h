#pragma once

#include <libvm/arch/common/code_constants.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace beamdump::arch::aarch64 {

/// A constant that movz, and movk behind it, put into a register.
struct MovedConstant {
    std::uint32_t name = 0;  ///< of the register: 0 to 30
    std::uint64_t value = 0;
};

/// What a register has after `instruction`, with what the instructions before it have put together.
/// Nothing: it is neither movz nor the movk of the register before.
std::optional<MovedConstant> moved_constant(const std::optional<MovedConstant>& before,
                                            std::uint32_t instruction);

/// See arch::each_code_constant(). The active code index is loaded into x24, unless that has the
/// index of save_calls (jit/arm/beam_asm.hpp, emit_leave_runtime(); OTP 25 to 29).
void each_code_constant(std::span<const std::byte> code, std::uint64_t least,
                        const VisitConstant& visit);

}  // namespace beamdump::arch::aarch64
