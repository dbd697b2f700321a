#pragma once

#include <libvm/arch/aarch64/registers.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace beamdump::arch::host {

/// The registers of user code in a sample, as the kernel numbers them
/// (arch/arm64/include/uapi/asm/perf_regs.h): x0 to x30, sp, pc. Named by what they are for.
/// Compiled code keeps the running process in x21 and its heap's top in x23; the Erlang stack is
/// not the one at the stack pointer (jit/arm/beam_asm.hpp).
enum class SampledRegister : std::uint8_t {
    kErlangStack = 20,
    kSavedStack = kErlangStack,
    kSavedStackOf24 = kSavedStack,  ///< OTP 24 has no JIT for it
    kProcess = 21,
    kHeapTop = 23,
    kStackPointer = 31,
    kInstruction = 32,
};

/// What a sample asks the kernel for, a bit for each, and one past the last one's number.
inline constexpr std::size_t kSampledNumbers = 33;
inline constexpr std::uint64_t kSampledRegisters = (std::uint64_t{1} << kSampledNumbers) - 1;

/// Whether the Erlang stack is another one than that at the stack pointer.
inline constexpr bool kOwnErlangStack = true;

/// What a call of Erlang code returns to is in this register first.
inline constexpr std::optional<SampledRegister> kLink = static_cast<SampledRegister>(30);

/// By DWARF's numbers, which are the kernel's: x0 to x30 and sp.
inline constexpr auto kDwarfOrder = [] {
    std::array<SampledRegister, kSampledNumbers - 1> all{};
    for (std::size_t number = 0; number < all.size(); ++number) {
        all[number] = static_cast<SampledRegister>(number);
    }
    return all;
}();

/// Those that functions keep, x19 to x29, and x30, with their places in ThreadRegisters::general().
inline constexpr auto kKeptByFunctions = [] {
    std::array<std::pair<SampledRegister, std::size_t>, 12> kept{};
    for (std::size_t at = 0; at < kept.size(); ++at) {
        kept[at] = {static_cast<SampledRegister>(at + 19), at + 19};
    }
    return kept;
}();

}  // namespace beamdump::arch::host
