#include <libvm/arch/aarch64/registers.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace beamdump::arch::aarch64 {

ThreadRegisters thread_registers(pid_t thread, const KernelRegisters& all,
                                 std::int64_t system_call) {
    constexpr std::size_t kScheduler = 19, kStackTop = 20, kProcess = 21, kReductions = 22,
                          kHeapTop = 23;
    ThreadRegisters registers{
        .thread = thread,
        .instruction = all.pc,
        .stack_pointer = all.sp,
        .jit = {.process = all.x[kProcess],
                .stack_top = all.x[kStackTop],
                .heap_top = all.x[kHeapTop],
                .reductions_left = static_cast<std::uint32_t>(all.x[kReductions]),
                .scheduler = all.x[kScheduler]},
        .general_count = kGeneralRegisters};
    std::ranges::copy(all.x, registers.general_words.begin());
    registers.general_words[kNumbered] = all.sp;
    set_system_call(registers, system_call);
    return registers;
}

void set_system_call(ThreadRegisters& thread, std::int64_t system_call) {
    thread.system_call = system_call;
    thread.first_argument =
        system_call >= 0 ? std::optional(thread.general_words[0]) : std::nullopt;
}

void set_stopped_call(ThreadRegisters& thread, std::uint32_t before, std::uint32_t at) {
    constexpr std::size_t kNumber = 8;
    constexpr std::uint32_t kSystemCall = 0xd4000001;  // svc #0
    const auto number = thread.general_words[kNumber];
    if (number > INT32_MAX) {
        return;
    }
    if (at == kSystemCall) {
        set_system_call(thread, static_cast<std::int64_t>(number));
    } else if (before == kSystemCall &&
               thread.general_words[0] == static_cast<std::uint64_t>(-EINTR)) {
        thread.system_call = static_cast<std::int64_t>(number);
    }
}

}  // namespace beamdump::arch::aarch64
