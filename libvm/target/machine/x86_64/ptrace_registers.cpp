#include <libdump/base/return_if_error.h>
#include <libvm/arch/x86_64/registers.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/stop/ptrace_calls.h>
#include <libvm/target/twin/thread_state.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <utility>
#include <vector>

namespace beamdump::target {
namespace {

constexpr std::size_t kMaxXsaveBytes = std::size_t{64} << 10U;
constexpr std::uint64_t kUserCode64 = 0x33;  // Linux' __USER_CS

}  // namespace

Result<HostRegisters> read_registers(pid_t thread) {
    HostRegisters registers{};
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

Result<void> write_registers(pid_t thread, const HostRegisters& registers) {
    if (::ptrace(PTRACE_SETREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("set the registers", thread, errno);
    }
    return {};
}

Result<ThreadState> read_thread_state(pid_t thread) {
    ASSIGN_OR_RETURN(const auto registers, read_registers(thread));
    if (registers.cs != kUserCode64) {
        return fail(ErrorCode::kUnsupported, "it does not run x86-64 code");
    }
    ThreadState state;
    state.registers = registers;
    std::vector<std::byte> xsave(kMaxXsaveBytes);
    iovec room{xsave.data(), xsave.size()};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the register set's number so.
    auto* const kind = reinterpret_cast<void*>(static_cast<std::uintptr_t>(NT_X86_XSTATE));
    if (::ptrace(PTRACE_GETREGSET, thread, kind, &room) != 0) {
        return ptrace_failed("read the extended registers", thread, errno);
    }
    xsave.resize(room.iov_len);
    ASSIGN_OR_RETURN(auto extended, xsave_for_frame(xsave, xsave_shape(xsave_features(xsave))));
    state.extended = std::move(extended);
    return state;
}

bool has_shadow_stack(std::string_view status) {
    return listed_text(status, "x86_Thread_features").value_or("").contains("shstk");
}

std::optional<std::int64_t> result_of(const HostRegisters& registers, long call) {
    const auto result = static_cast<std::int64_t>(registers.rax);
    return registers.orig_rax == static_cast<std::uint64_t>(call) && result != -ENOSYS
               ? std::optional(result)
               : std::nullopt;
}

bool begins(const HostRegisters& registers, long call, bool at_system_call) {
    const auto result = static_cast<std::int64_t>(registers.rax);
    return registers.orig_rax == static_cast<std::uint64_t>(call) &&
           ((at_system_call && result == -ENOSYS) || begins_anew(result));
}

}  // namespace beamdump::target
