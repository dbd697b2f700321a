#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/common/gadgets.h>
#include <libvm/memory/memory_source.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/user.h>
#include <vector>

namespace beamdump::target {

/// A thread's general registers, as ptrace(2) gives them.
using HostRegisters = user_regs_struct;
inline memory::Address place_of(const HostRegisters& registers) {
    return registers.rip;
}
inline memory::Address stack_of(const HostRegisters& registers) {
    return registers.rsp;
}
/// Points a thread elsewhere: the kernel does not begin its system call anew.
void go_to(HostRegisters& registers, memory::Address place, memory::Address stack);

/// All that a thread needs to go on as if nothing had been.
struct ThreadState {
    HostRegisters registers{};
    std::vector<std::byte> extended;  ///< xsave_for_frame()'s
    std::uint64_t signal_mask = 0;
};

/// The instruction of a system call. Bytes.
inline constexpr std::uint64_t kSyscallBytes = 2;
/// A function may use so many bytes below its stack pointer.
inline constexpr std::uint64_t kRedZoneBytes = 128;

/// syscall; ret
inline constexpr std::array kSyscallReturn = {std::byte{0x0f}, std::byte{0x05}, std::byte{0xc3}};
/// mov $15, %rax as glibc and musl have it; mov $15, %eax. The system call rt_sigreturn is 15.
inline constexpr std::array kSigreturn = {std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0},
                                          std::byte{0x0f}, std::byte{0x00}, std::byte{0x00},
                                          std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};
inline constexpr std::array kShortSigreturn = {std::byte{0xb8}, std::byte{0x0f}, std::byte{0x00},
                                               std::byte{0x00}, std::byte{0x00}, std::byte{0x0f},
                                               std::byte{0x05}};
/// Where an instruction may begin. Bytes.
inline constexpr std::size_t kInstructionAlignment = 1;

/// The bytes of a frame on the stack: the address that returns to rt_sigreturn, and a ucontext.
inline constexpr std::size_t kFrameBytes = 312;
/// rt_sigreturn begins so many bytes behind a frame's beginning: the address is popped by then.
inline constexpr std::size_t kSigreturnEntry = 8;

/// Which extended state the kernel takes from a signal frame, and in how many bytes.
struct XsaveShape {
    std::uint64_t features = 0;  ///< bits as in XCR0
    std::size_t bytes = 0;
};

/// What this processor needs for `features`, but for those that a thread has only on request (AMX'
/// tile data): the kernel refuses a frame that is larger than the thread's own state. Sizes are
/// CPUID's, leaf 13.
XsaveShape xsave_shape(std::uint64_t features);

/// Turns what PTRACE_GETREGSET gives for NT_X86_XSTATE (same layout but for the 48 bytes that
/// software may use, Linux' arch/x86/include/uapi/asm/sigcontext.h) into what rt_sigreturn takes:
/// marked with both magic numbers. kUnsupported: the thread has state that a frame of this shape
/// cannot hold. kImplausible: too short, or of another layout.
Result<std::vector<std::byte>> xsave_for_frame(std::span<const std::byte> regset,
                                               const XsaveShape& shape);

/// The features named in such a register set (XCR0); 0 where it is too short.
std::uint64_t xsave_features(std::span<const std::byte> regset);

/// The registers with which a stopped thread's system call restarts, as the kernel would have it:
/// to be set with orig_rax -1. A thread outside of a system call goes on where it is. kUnsupported:
/// the kernel keeps what is left of the call in a place that a frame cannot restore (a sleep with a
/// time-out, ERESTART_RESTARTBLOCK).
Result<HostRegisters> restarted(const HostRegisters& stopped);

/// Signal frames, one after another, which a thread runs through by itself: each rt_sigreturn
/// loads all registers for one system call, whose `ret` leads to the next frame. Nothing is
/// executed that is not in the target already. All signals are blocked meanwhile.
class FrameChain {
  public:
    /// `at`: where the chain will stand; a multiple of 64. The selectors are the target's own.
    FrameChain(memory::Address at, const Gadgets& gadgets, const HostRegisters& selectors);

    void call(const SystemCall& call);
    /// Ends the chain: the thread gets `state`.
    void resume(const ThreadState& state);

    [[nodiscard]] memory::Address begin() const { return at_; }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    /// The stack pointer of a thread that is about to return (`ret`) into the chain.
    [[nodiscard]] memory::Address entry() const { return at_; }
    /// The stack pointer of a thread that is made to run from Gadgets::sigreturn.
    [[nodiscard]] memory::Address sigreturn_entry() const { return at_ + 8; }

  private:
    memory::Address at_;
    Gadgets gadgets_;
    std::uint64_t code_selector_;
    std::uint64_t stack_selector_;
    std::vector<std::byte> bytes_;
};

}  // namespace beamdump::target
