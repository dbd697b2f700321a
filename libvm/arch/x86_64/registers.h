#pragma once

#include <libvm/arch/common/registers.h>

#include <sys/types.h>

namespace beamdump::arch::x86_64 {

/// The words of a thread's registers as the kernel gives them, by ptrace(2) and in a core's
/// NT_PRSTATUS (struct user_regs_struct, Linux' arch/x86/include/asm/user_64.h).
struct KernelRegisters {
    std::uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
    std::uint64_t orig_rax, rip, cs, eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};
static_assert(sizeof(KernelRegisters) == 27 * sizeof(std::uint64_t));

/// In ThreadRegisters::general().
enum class General : std::uint8_t {
    kRax,
    kRbx,
    kRcx,
    kRdx,
    kRsi,
    kRdi,
    kRbp,
    kRsp,
    kR8,
    kR9,
    kR10,
    kR11,
    kR12,
    kR13,
    kR14,
    kR15,
};
inline constexpr std::size_t kGeneralRegisters = 16;

/// Outside of a system call the kernel sets orig_rax to a negative number. Compiled code keeps the
/// process in r13, the stack's top in rsp, the heap's in r15, the reductions left in r14 and a
/// place in the scheduler's registers in rbx (jit/x86/beam_asm.hpp, OTP 25 to 29).
ThreadRegisters thread_registers(pid_t thread, const KernelRegisters& all);

}  // namespace beamdump::arch::x86_64
