#pragma once

#include <libvm/arch/x86_64/registers.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace beamdump::arch::host {

/// The registers of user code in a sample, as the kernel numbers them
/// (arch/x86/include/uapi/asm/perf_regs.h); segment registers are left out. The last ones by what
/// they are for: compiled code keeps the running process in r13, its stack's top in rsp, its heap's
/// in r15, and the stack's top in rbp while it calls native code that does not need it
/// (jit/x86/beam_asm.hpp, OTP 25 to 29).
enum class SampledRegister : std::uint8_t {
    kRax,
    kRbx,
    kRcx,
    kRdx,
    kRsi,
    kRdi,
    kRbp,
    kRsp,
    kRip,
    kFlags,
    kR8 = 16,
    kR9,
    kR10,
    kR11,
    kR12,
    kR13,
    kR14,
    kR15,
    kInstruction = kRip,
    kStackPointer = kRsp,
    kProcess = kR13,
    kHeapTop = kR15,
    kErlangStack = kRsp,
    kSavedStack = kRbp,
    kSavedStackOf24 = kR12,  ///< of OTP 24
};

/// What a sample asks the kernel for, a bit for each, and one past the last one's number.
inline constexpr std::uint64_t kSampledRegisters = 0xff01ffU;
inline constexpr std::size_t kSampledNumbers = 24;

/// Whether the Erlang stack is another one than that at the stack pointer.
inline constexpr bool kOwnErlangStack = false;

/// What a call of Erlang code returns to is on its stack at once.
inline constexpr std::optional<SampledRegister> kLink = std::nullopt;

/// By DWARF's numbers.
inline constexpr std::array kDwarfOrder = {
    SampledRegister::kRax, SampledRegister::kRdx, SampledRegister::kRcx, SampledRegister::kRbx,
    SampledRegister::kRsi, SampledRegister::kRdi, SampledRegister::kRbp, SampledRegister::kRsp,
    SampledRegister::kR8,  SampledRegister::kR9,  SampledRegister::kR10, SampledRegister::kR11,
    SampledRegister::kR12, SampledRegister::kR13, SampledRegister::kR14, SampledRegister::kR15,
    SampledRegister::kRip};

/// Those that functions keep, and their places in ThreadRegisters::general().
inline constexpr std::array kKeptByFunctions = {
    std::pair{SampledRegister::kRbx, x86_64::General::kRbx},
    std::pair{SampledRegister::kRbp, x86_64::General::kRbp},
    std::pair{SampledRegister::kR12, x86_64::General::kR12},
    std::pair{SampledRegister::kR13, x86_64::General::kR13},
    std::pair{SampledRegister::kR14, x86_64::General::kR14},
    std::pair{SampledRegister::kR15, x86_64::General::kR15}};

}  // namespace beamdump::arch::host
