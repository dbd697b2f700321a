#include <libdump/base/system_error.h>
#include <libvm/target/stop/ptrace_calls.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/ptrace.h>

namespace beamdump::target {

std::unexpected<Error> ptrace_failed(const char* doing, pid_t thread, int error) {
    if (error == ESRCH) {
        return fail(ErrorCode::kTargetDied, fmt::format("thread {} has ended", thread));
    }
    return fail(ErrorCode::kIo,
                fmt::format("cannot {} of thread {}: {}", doing, thread, system_error_text(error)));
}

Result<user_regs_struct> read_registers(pid_t thread) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("read the registers", thread, errno);
    }
    return registers;
}

Result<std::array<std::array<std::uint64_t, 2>, 16>> read_vectors(pid_t thread) {
    user_fpregs_struct registers{};
    if (::ptrace(PTRACE_GETFPREGS, thread, nullptr, &registers) != 0) {
        return ptrace_failed("read the vector registers", thread, errno);
    }
    std::array<std::array<std::uint64_t, 2>, 16> vectors{};
    static_assert(sizeof(vectors) == sizeof(registers.xmm_space));
    std::memcpy(&vectors, registers.xmm_space, sizeof(vectors));
    return vectors;
}

}  // namespace beamdump::target
