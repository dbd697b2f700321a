#pragma once

#include <array>
#include <cstdint>
#include <sys/types.h>
#include <sys/user.h>

namespace beamdump::target {

/// A stopped thread's registers: where its code and stack are, and those in which the emulator
/// keeps what it runs (x86-64; who keeps what there is the emulator's own affair).
struct ThreadRegisters {
    pid_t thread = 0;
    std::uint64_t rip = 0;
    std::uint64_t rsp = 0;
    std::uint64_t rbx = 0;
    std::uint64_t rbp = 0;
    std::uint64_t r12 = 0;
    std::uint64_t r13 = 0;
    std::uint64_t r14 = 0;
    std::uint64_t r15 = 0;
    bool in_system_call = false;
    /// All general registers, those above among them.
    std::array<std::uint64_t, 16> general{};
    /// The lower and upper half of each SSE register; zeros where they were not read.
    std::array<std::array<std::uint64_t, 2>, 16> vectors{};
};

/// Of what the kernel gives (ptrace(2), NT_PRSTATUS): outside of a system call it sets orig_rax to
/// a negative number.
inline ThreadRegisters thread_registers(pid_t thread, const user_regs_struct& all) {
    return {thread,
            all.rip,
            all.rsp,
            all.rbx,
            all.rbp,
            all.r12,
            all.r13,
            all.r14,
            all.r15,
            static_cast<std::int64_t>(all.orig_rax) >= 0,
            {all.rax, all.rbx, all.rcx, all.rdx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8, all.r9,
             all.r10, all.r11, all.r12, all.r13, all.r14, all.r15}};
}

}  // namespace beamdump::target
