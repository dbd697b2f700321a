#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump::arch::x86_64 {

/// The bytes with which a function begins that may yield.
inline constexpr std::size_t kFunctionStartBytes = 24;
/// The offsets of its instructions, and of the first one after them.
inline constexpr std::array<std::uint64_t, 5> kStartInstructions = {0, 8, 15, 18, 24};

/// Whether code begins as the JIT begins a function that may yield, without frame pointers: a jump
/// over the place of a breakpoint, the address at which it goes on, one reduction less, and the
/// yield (jit/x86/beam_asm_module.cpp, i_breakpoint_trampoline; instr_common.cpp, i_test_yield;
/// OTP 25 to 29).
bool is_function_start(std::span<const std::byte, kFunctionStartBytes> code);

}  // namespace beamdump::arch::x86_64
