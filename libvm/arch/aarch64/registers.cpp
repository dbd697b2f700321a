#include <libvm/arch/aarch64/registers.h>

namespace beamdump::arch::aarch64 {

ThreadRegisters thread_registers(pid_t thread, const KernelRegisters& all,
                                 std::int64_t system_call) {
    constexpr std::size_t kScheduler = 19, kStackTop = 20, kProcess = 21, kReductions = 22,
                          kHeapTop = 23;
    return {.thread = thread,
            .instruction = all.pc,
            .stack_pointer = all.sp,
            .jit = {.process = all.x[kProcess],
                    .stack_top = all.x[kStackTop],
                    .heap_top = all.x[kHeapTop],
                    .reductions_left = static_cast<std::uint32_t>(all.x[kReductions]),
                    .scheduler = all.x[kScheduler]},
            .system_call = system_call,
            .first_argument = system_call >= 0 ? all.x[0] : 0,
            .general_words = all.x,
            .general_count = kGeneralRegisters};
}

}  // namespace beamdump::arch::aarch64
