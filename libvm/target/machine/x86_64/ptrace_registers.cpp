#include <libdump/base/return_if_error.h>
#include <libvm/arch/x86_64/registers.h>
#include <libvm/target/machine/x86_64/ptrace_registers.h>
#include <libvm/target/stop/ptrace_calls.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <sys/ptrace.h>

namespace beamdump::target {

Result<user_regs_struct> read_registers(pid_t thread) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("read the registers", thread, errno);
    }
    return registers;
}

Result<arch::ThreadRegisters> read_thread_registers(pid_t thread) {
    ASSIGN_OR_RETURN(const auto all, read_registers(thread));
    auto registers =
        arch::x86_64::thread_registers(thread, std::bit_cast<arch::x86_64::KernelRegisters>(all));
    user_fpregs_struct vectors{};
    if (!registers.in_system_call() && ::ptrace(PTRACE_GETFPREGS, thread, nullptr, &vectors) == 0) {
        static_assert(sizeof(vectors.xmm_space) <= sizeof(registers.vectors));
        std::memcpy(&registers.vectors, vectors.xmm_space, sizeof(vectors.xmm_space));
    }
    return registers;
}

}  // namespace beamdump::target
