#pragma once

#include <libvm/arch/common/call_code.h>

namespace beamdump::arch::aarch64 {

/// See arch::fragment_call(). The tops are stored together before the call and loaded behind it
/// (jit/arm/beam_asm.hpp, emit_enter_runtime() and emit_leave_runtime(), with both; OTP 25 to 29).
std::optional<FragmentCall> fragment_call(Code code, Called called, const TopFields& fields);

/// Where the first `blr REGISTER` ends.
std::optional<std::size_t> behind_register_call(Code code);

/// See arch::takes_stack_from_structure(): `ldp x23, x20, [x21, htop]` or `ldr x20, [x21, stop]`
/// (emit_leave_runtime()).
bool stack_from_structure(Code code, const TopFields& fields);

/// See arch::last_frame_bytes(): `sub x20, x20, N` (jit/arm/instr_common.cpp,
/// emit_allocate_heap(), OTP 25 to 29).
std::optional<std::uint32_t> last_frame_bytes(Code code);

/// Whether a function is at a place where its return address is in x30 and not on the Erlang stack:
/// at its first instruction, which puts it there, or between the one that takes it back and the
/// return or jump. `code`: the function's, up to that place, and the instruction there.
bool return_is_in_register(Code code);

/// `mov x3, N` and the call (jit/arm/instr_common.cpp, emit_gc_test(); OTP 25 to 29).
inline constexpr std::size_t kLiveBefore = 8;
std::optional<std::uint64_t> live_before_call(std::span<const std::byte, kLiveBefore> code);

}  // namespace beamdump::arch::aarch64
