#include <libdump/base/return_if_error.h>
#include <libvm/arch/aarch64/registers.h>
#include <libvm/target/stop/ptrace_calls.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <elf.h>
#include <optional>
#include <sys/ptrace.h>
#include <sys/uio.h>

namespace beamdump::target {
namespace {

/// One of the kernel's sets of registers.
template <typename T>
Result<T> read_set(pid_t thread, int set, const char* doing) {
    T value{};
    iovec place{&value, sizeof(value)};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the set's number as a pointer.
    auto* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(set));
    if (::ptrace(PTRACE_GETREGSET, thread, number, &place) != 0) {
        return ptrace_failed(doing, thread, errno);
    }
    if (place.iov_len != sizeof(value)) {
        return ptrace_failed(doing, thread, EIO);
    }
    return value;
}

/// struct user_fpsimd_state, Linux' arch/arm64/include/uapi/asm/ptrace.h.
struct VectorSet {
    std::array<arch::ThreadRegisters::Vector, 32> vectors;
    std::uint32_t status, control;
    std::array<std::uint32_t, 2> reserved;
};

/// The instructions before and at which a thread stands; nothing where they cannot be read.
std::optional<std::array<std::uint32_t, 2>> instructions_at(pid_t thread, std::uint64_t place) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process.
    auto* const before = reinterpret_cast<void*>(place - sizeof(std::uint32_t));
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKTEXT, thread, before, nullptr);
    if (errno != 0) {
        return std::nullopt;
    }
    return std::bit_cast<std::array<std::uint32_t, 2>>(word);
}

}  // namespace

Result<arch::ThreadRegisters> read_thread_registers(pid_t thread) {
    namespace machine = arch::aarch64;
    ASSIGN_OR_RETURN(const auto all,
                     read_set<machine::KernelRegisters>(thread, NT_PRSTATUS, "read the registers"));
    ASSIGN_OR_RETURN(const auto system_call,
                     read_set<std::int32_t>(thread, NT_ARM_SYSTEM_CALL, "read the system call"));
    auto registers = machine::thread_registers(thread, all, system_call);
    if (registers.in_system_call()) {
        return registers;
    }
    if (const auto instructions = instructions_at(thread, registers.instruction)) {
        machine::set_stopped_call(registers, instructions->front(), instructions->back());
    }
    if (!registers.in_system_call()) {
        if (const auto set = read_set<VectorSet>(thread, NT_FPREGSET, "read the vectors")) {
            registers.vectors = set->vectors;
        }
    }
    return registers;
}

}  // namespace beamdump::target
