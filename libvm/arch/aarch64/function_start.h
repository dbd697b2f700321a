#pragma once

#include <libvm/arch/common/function_start.h>

namespace beamdump::arch::aarch64 {

/// As the JIT begins a function that may yield: the return address is put on the stack, a branch
/// over the place of a breakpoint, the function's address, one reduction less, and the yield
/// (jit/arm/beam_asm_module.cpp, i_breakpoint_trampoline; instr_common.cpp, i_test_yield; OTP 25
/// and 27). At the first instruction the return address is in x30 only, so that the stack lacks it.
/// x registers 0 to 5 are in x25 to x28, x15 and x16 (jit/arm/beam_asm.hpp, OTP 25 to 29, where
/// x18 is not the platform's own, as on Linux).
FunctionStarts function_starts();

}  // namespace beamdump::arch::aarch64
