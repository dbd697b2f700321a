#include <libdump/base/return_if_error.h>
#include <libvm/arch/aarch64/registers.h>
#include <libvm/target/stop/ptrace_calls.h>
#include <libvm/target/twin/thread_state.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <elf.h>
#include <optional>
#include <string_view>
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

/// Sets of registers that older C libraries do not name (Linux' include/uapi/linux/elf.h).
constexpr int kStreamingMatrix = 0x40c;      // NT_ARM_ZA
constexpr int kGuardedControlStack = 0x410;  // NT_ARM_GCS

/// What begins the sets of scalable registers: struct user_sve_header and user_za_header, the same.
struct ScalableHeader {
    std::uint32_t bytes, most_bytes;
    std::uint16_t vector_bytes, most_vector_bytes, flags, reserved;
};

/// What a frame of general and vector registers does not restore, if the thread uses it. A set that
/// cannot be read is one that the processor or the kernel does not have; of a longer one the
/// beginning is read.
std::optional<std::string_view> not_restored(pid_t thread) {
    constexpr std::uint16_t kScalable = 1;  // SVE_PT_REGS_SVE
    constexpr std::uint64_t kEnabled = 1;   // PR_SHADOW_STACK_ENABLE
    if (const auto header = read_set<ScalableHeader>(thread, NT_ARM_SVE, "read registers");
        header && (header->flags & kScalable) != 0) {
        return "scalable vectors (SVE)";
    }
    if (const auto header = read_set<ScalableHeader>(thread, kStreamingMatrix, "read registers");
        header && header->bytes > sizeof(ScalableHeader)) {
        return "a matrix register (SME)";
    }
    if (const auto enabled =
            read_set<std::uint64_t>(thread, kGuardedControlStack, "read registers");
        enabled && (*enabled & kEnabled) != 0) {
        return "a shadow stack (GCS)";
    }
    return std::nullopt;
}

/// Changes one of the kernel's sets of registers.
template <typename T>
Result<void> write_set(pid_t thread, int set, T value, const char* doing) {
    iovec place{&value, sizeof(value)};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes the set's number as a pointer.
    auto* const number = reinterpret_cast<void*>(static_cast<std::intptr_t>(set));
    if (::ptrace(PTRACE_SETREGSET, thread, number, &place) != 0) {
        return ptrace_failed(doing, thread, errno);
    }
    return {};
}

/// What a thread that stands at a system call has in x7 instead of its own word: 0 at the entry, 1
/// at the end (Linux' arch/arm64/kernel/ptrace.c, report_syscall()).
constexpr std::size_t kDirection = 7;
constexpr std::uint64_t kEntry = 0;
constexpr std::uint64_t kEnd = 1;

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

Result<HostRegisters> read_registers(pid_t thread) {
    HostRegisters registers;
    ASSIGN_OR_RETURN(registers.user, read_set<arch::aarch64::KernelRegisters>(
                                         thread, NT_PRSTATUS, "read the registers"));
    ASSIGN_OR_RETURN(registers.system_call,
                     read_set<std::int32_t>(thread, NT_ARM_SYSTEM_CALL, "read the system call"));
    return registers;
}

Result<void> write_registers(pid_t thread, const HostRegisters& registers) {
    RETURN_IF_ERROR(
        write_set(thread, NT_ARM_SYSTEM_CALL, registers.system_call, "set the system call"));
    return write_set(thread, NT_PRSTATUS, registers.user, "set the registers");
}

Result<ThreadState> read_thread_state(pid_t thread) {
    constexpr std::uint64_t kMode32 = 0x10;  // PSR_MODE32_BIT
    ThreadState state;
    ASSIGN_OR_RETURN(state.registers, read_registers(thread));
    if ((state.registers.user.pstate & kMode32) != 0) {
        return fail(ErrorCode::kUnsupported, "it does not run aarch64 code");
    }
    if (const auto what = not_restored(thread)) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the thread uses {}, which a signal frame may not restore", *what));
    }
    ASSIGN_OR_RETURN(const auto set, read_set<VectorSet>(thread, NT_FPREGSET, "read the vectors"));
    state.vectors = set.vectors;
    state.vector_status = set.status;
    state.vector_control = set.control;
    return state;
}

bool has_shadow_stack(std::string_view /*status*/) {
    return false;
}

std::optional<std::int64_t> result_of(const HostRegisters& registers, long call) {
    const auto& x = registers.user.x;
    return registers.system_call == call && x[kDirection] == kEnd
               ? std::optional(static_cast<std::int64_t>(x[0]))
               : std::nullopt;
}

bool begins(const HostRegisters& registers, long call, bool at_system_call) {
    const auto& x = registers.user.x;
    return registers.system_call == call && at_system_call &&
           (x[kDirection] == kEntry || begins_anew(static_cast<std::int64_t>(x[0])));
}

}  // namespace beamdump::target
