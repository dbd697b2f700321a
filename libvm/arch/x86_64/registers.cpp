#include <libvm/arch/x86_64/registers.h>

namespace beamdump::arch::x86_64 {

ThreadRegisters thread_registers(pid_t thread, const KernelRegisters& all) {
    const auto system_call = static_cast<std::int64_t>(all.orig_rax);
    return {
        .thread = thread,
        .instruction = all.rip,
        .stack_pointer = all.rsp,
        .jit = {.process = all.r13,
                .stack_top = all.rsp,
                .heap_top = all.r15,
                .reductions_left = all.r14,
                .scheduler = all.rbx},
        .system_call = system_call,
        .first_argument = system_call >= 0 ? std::optional(all.rdi) : std::nullopt,
        .general_words = {all.rax, all.rbx, all.rcx, all.rdx, all.rsi, all.rdi, all.rbp, all.rsp,
                          all.r8, all.r9, all.r10, all.r11, all.r12, all.r13, all.r14, all.r15},
        .general_count = kGeneralRegisters,
        .thread_pointer = all.fs_base};
}

}  // namespace beamdump::arch::x86_64
