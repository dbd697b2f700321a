#include <libdump/base/bytes.h>
#include <libvm/arch/aarch64/host/signal_frame.h>

#include <fmt/format.h>

#include <algorithm>
#include <sys/syscall.h>

namespace beamdump::target {
namespace {

constexpr std::size_t kNumberRegister = 8;
constexpr std::size_t kReturnRegister = 30;
constexpr std::size_t kTimeoutOfFutex = 3;

// Linux' arch/arm64/include/uapi/asm/sigcontext.h
constexpr std::uint32_t kVectorsMagic = 0x46508001;
constexpr std::uint32_t kVectorsBytes = 0x210;

/// struct rt_sigframe (Linux' arch/arm64/kernel/signal.c) with its siginfo, ucontext and
/// sigcontext, up to the end of the records behind that: an fpsimd_context, without which
/// rt_sigreturn fails, and an empty one.
struct Frame {
    std::array<std::uint64_t, 16> information;
    std::uint64_t flags, link;
    std::uint64_t alternate_stack;
    std::uint32_t alternate_stack_mode;
    std::uint32_t padding;
    std::uint64_t alternate_stack_bytes;
    std::uint64_t signal_mask;
    std::array<std::uint64_t, 16> reserved;
    std::uint64_t fault_address;
    arch::aarch64::KernelRegisters registers;
    std::uint64_t more_padding;
    std::uint32_t vectors_magic, vectors_bytes;
    std::uint32_t vector_status, vector_control;
    std::array<arch::ThreadRegisters::Vector, 32> vectors;
    std::uint32_t end_magic, end_bytes;
    std::uint64_t last_padding;
};
static_assert(sizeof(Frame) == kFrameBytes);

Frame empty_frame() {
    Frame frame{};
    frame.alternate_stack_mode = kKeepAlternateStack;
    frame.vectors_magic = kVectorsMagic;
    frame.vectors_bytes = kVectorsBytes;
    return frame;
}

void append(std::vector<std::byte>& bytes, const Frame& frame) {
    const auto more = bytes_of(frame);
    bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

void go_to(HostRegisters& registers, memory::Address place, memory::Address stack) {
    registers.user.pc = place;
    registers.user.sp = stack;
    registers.system_call = -1;
}

Result<HostRegisters> restarted(const HostRegisters& stopped) {
    // Those that return ERESTART_RESTARTBLOCK: which call it is, the kernel has forgotten.
    const auto number = stopped.user.x[kNumberRegister];
    const bool sleeps = number == SYS_nanosleep || number == SYS_clock_nanosleep ||
                        number == SYS_restart_syscall ||
                        (number == SYS_futex && stopped.user.x[kTimeoutOfFutex] != 0);
    if (sleeps) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format(
                "the thread sleeps with a time-out (system call {}), which cannot be restarted",
                number));
    }
    return stopped;
}

FrameChain::FrameChain(memory::Address at, const Gadgets& gadgets, const HostRegisters& /*thread*/)
    : at_(at), gadgets_(gadgets) {}

void FrameChain::call(const SystemCall& call) {
    auto frame = empty_frame();
    std::ranges::copy(call.arguments, frame.registers.x.begin());
    frame.registers.x[kNumberRegister] = call.number;
    frame.registers.x[kReturnRegister] = gadgets_.sigreturn;
    frame.registers.pc = gadgets_.syscall_return;
    frame.registers.sp = at_ + bytes_.size() + kFrameBytes;
    frame.signal_mask = kAllSignals;
    append(bytes_, frame);
}

void FrameChain::resume(const ThreadState& state) {
    auto frame = empty_frame();
    frame.registers = state.registers.user;
    frame.signal_mask = state.signal_mask;
    frame.vector_status = state.vector_status;
    frame.vector_control = state.vector_control;
    frame.vectors = state.vectors;
    append(bytes_, frame);
}

}  // namespace beamdump::target
