#pragma once

#include <libvm/arch/common/function_start.h>

namespace beamdump::arch::x86_64 {

/// As the JIT begins a function that may yield, without frame pointers: a jump over the place of a
/// breakpoint, the address at which it goes on (in OTP 24 only where it yields), one reduction
/// less, and the yield (jit/x86/beam_asm_module.cpp, i_breakpoint_trampoline; instr_common.cpp,
/// i_test_yield; OTP 24 to 29). All arguments are in memory.
FunctionStarts function_starts();

}  // namespace beamdump::arch::x86_64
