#pragma once

#include <libvm/arch/common/call_code.h>
#include <libvm/arch/common/registers.h>
#include <libvm/memory/memory_source.h>

#include <cstdint>
#include <optional>

namespace beamdump::arch::aarch64 {

/// A return address as it was before a function signed it (PAC): its signature is in the bits that
/// no address of a process has.
constexpr std::uint64_t without_signature(std::uint64_t address) {
    constexpr std::uint64_t kAddressBits = (std::uint64_t{1} << 48U) - 1;
    return address & kAddressBits;
}

/// See arch::native_returns(): addresses are without signatures. Follows the frame records of
/// native code that compiled code has called (the procedure call standard for aarch64: x29 leads to
/// a pair of the caller's x29 and a return address). Compiled code runs with x29 and sp at the
/// scheduler's registers; its fragments put a record right below them (jit/arm/process_main.cpp;
/// beam_asm.hpp, emit_enter_runtime_frame(); OTP 25 to 29). A function that has no record yet, or
/// never, returns to where x30 says: only what compiled code has called counts as such. Nothing:
/// the records do not lead to the registers.
std::optional<NativeReturns> native_returns(const ThreadRegisters& thread, std::uint64_t registers,
                                            memory::MemorySource& memory);

}  // namespace beamdump::arch::aarch64
