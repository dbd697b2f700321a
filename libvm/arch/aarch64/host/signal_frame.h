#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/aarch64/registers.h>
#include <libvm/arch/common/gadgets.h>
#include <libvm/arch/common/registers.h>
#include <libvm/memory/memory_source.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace beamdump::target {

/// A thread's general registers and the number of its system call, as ptrace(2) gives them.
struct HostRegisters {
    arch::aarch64::KernelRegisters user{};
    std::int32_t system_call = -1;  ///< negative: it is in none
};
inline memory::Address place_of(const HostRegisters& registers) {
    return registers.user.pc;
}
inline memory::Address stack_of(const HostRegisters& registers) {
    return registers.user.sp;
}
/// Points a thread elsewhere: a system call that it is about to begin is not made.
void go_to(HostRegisters& registers, memory::Address place, memory::Address stack);

/// All that a thread needs to go on as if nothing had been.
struct ThreadState {
    HostRegisters registers{};
    std::array<arch::ThreadRegisters::Vector, 32> vectors{};
    std::uint32_t vector_status = 0, vector_control = 0;  ///< FPSR, FPCR
    std::uint64_t signal_mask = 0;
};

/// The instruction of a system call. Bytes.
inline constexpr std::uint64_t kSyscallBytes = 4;
/// A function uses nothing below its stack pointer (the procedure call standard for aarch64).
inline constexpr std::uint64_t kRedZoneBytes = 0;

/// svc #0; ret
inline constexpr std::array kSyscallReturn = {std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                              std::byte{0xd4}, std::byte{0xc0}, std::byte{0x03},
                                              std::byte{0x5f}, std::byte{0xd6}};
/// mov x8, #139; svc #0, as the vdso has it; mov w8. The system call rt_sigreturn is 139.
inline constexpr std::array kSigreturn = {std::byte{0x68}, std::byte{0x11}, std::byte{0x80},
                                          std::byte{0xd2}, std::byte{0x01}, std::byte{0x00},
                                          std::byte{0x00}, std::byte{0xd4}};
inline constexpr std::array kShortSigreturn = {std::byte{0x68}, std::byte{0x11}, std::byte{0x80},
                                               std::byte{0x52}, std::byte{0x01}, std::byte{0x00},
                                               std::byte{0x00}, std::byte{0xd4}};
/// Where an instruction may begin. Bytes.
inline constexpr std::size_t kInstructionAlignment = 4;

/// The bytes of a frame on the stack: struct rt_sigframe with the vector registers and nothing
/// else. The kernel reads no more of what may follow them.
inline constexpr std::size_t kFrameBytes = 1136;
/// rt_sigreturn begins so many bytes behind a frame's beginning.
inline constexpr std::size_t kSigreturnEntry = 0;

/// The registers with which a stopped thread's system call begins anew. The kernel has set them so
/// by the time at which ptrace(2) shows them, but for the calls that it would continue:
/// kUnsupported (a sleep with a time-out).
Result<HostRegisters> restarted(const HostRegisters& stopped);

/// Signal frames, one after another, which a thread runs through by itself: each rt_sigreturn
/// loads all registers for one system call, and the `ret` behind it leads, by x30, to the next
/// rt_sigreturn. Nothing is executed that is not in the target already. All signals are blocked
/// meanwhile.
class FrameChain {
  public:
    /// `at`: where the chain will stand; a multiple of 16. Of the thread's registers nothing is
    /// needed.
    FrameChain(memory::Address at, const Gadgets& gadgets, const HostRegisters& thread);

    void call(const SystemCall& call);
    /// Ends the chain: the thread gets `state`.
    void resume(const ThreadState& state);

    [[nodiscard]] memory::Address begin() const { return at_; }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    /// The stack pointer of a thread that is about to return (`ret`) into the chain.
    [[nodiscard]] memory::Address entry() const { return at_; }
    /// The stack pointer of a thread that is made to run from Gadgets::sigreturn.
    [[nodiscard]] memory::Address sigreturn_entry() const { return at_ + kSigreturnEntry; }

  private:
    memory::Address at_;
    Gadgets gadgets_;
    std::vector<std::byte> bytes_;
};

}  // namespace beamdump::target
