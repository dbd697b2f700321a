#pragma once

#include <libvm/arch/common/call_code.h>

namespace beamdump::arch::aarch64 {

/// See arch::fragment_call(). The tops are stored together before the call and loaded behind it
/// (jit/arm/beam_asm.hpp, emit_enter_runtime() and emit_leave_runtime(), with both; OTP 25 to 29).
std::optional<FragmentCall> fragment_call(Code code, Called called, const TopFields& fields);

/// Where the first `blr REGISTER` ends.
std::optional<std::size_t> behind_register_call(Code code);

/// `mov x3, N` and the call (jit/arm/instr_common.cpp, emit_gc_test(); OTP 25 to 29).
inline constexpr std::size_t kLiveBefore = 8;
std::optional<std::uint64_t> live_before_call(std::span<const std::byte, kLiveBefore> code);

}  // namespace beamdump::arch::aarch64
