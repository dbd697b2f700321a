#pragma once

#include <libvm/arch/common/registers.h>

#include <array>
#include <sys/types.h>

namespace beamdump::arch::aarch64 {

/// x0 to x30, in ThreadRegisters::general() followed by sp.
inline constexpr std::size_t kNumbered = 31;
inline constexpr std::size_t kGeneralRegisters = kNumbered + 1;

/// The words of a thread's registers as the kernel gives them, by ptrace(2) and in a core's
/// NT_PRSTATUS (struct user_pt_regs, Linux' arch/arm64/include/uapi/asm/ptrace.h).
struct KernelRegisters {
    std::array<std::uint64_t, kNumbered> x;
    std::uint64_t sp, pc, pstate;
};
static_assert(sizeof(KernelRegisters) == 34 * sizeof(std::uint64_t));

/// Compiled code keeps the process in x21, the Erlang stack's top in x20, the heap's in x23, the
/// reductions left in w22 and the scheduler's registers in x19 (jit/arm/beam_asm.hpp, OTP 26 and
/// 29). The number of a system call is not among these words: `system_call`, negative for none.
ThreadRegisters thread_registers(pid_t thread, const KernelRegisters& all,
                                 std::int64_t system_call);

/// Notes the system call that a thread is in; negative: none.
void set_system_call(ThreadRegisters& thread, std::int64_t system_call);

/// Notes the system call out of which a stop has taken a thread, by the instructions before and at
/// which it stands: the kernel then has no number of it (Linux' arch/arm64/kernel/signal.c,
/// do_signal()). The thread will begin the call anew, or has come back from it with EINTR, which
/// takes the place of the first argument.
void set_stopped_call(ThreadRegisters& thread, std::uint32_t before, std::uint32_t at);

}  // namespace beamdump::arch::aarch64
