#pragma once

#include <libvm/arch/common/registers.h>
#include <libvm/memory/memory_source.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump::arch::aarch64 {

/// Where native frames of a thread return to, without signatures (PAC).
struct FrameRecords {
    std::uint64_t to_code = 0;               ///< of the outermost frame: in compiled code
    std::vector<std::uint64_t> to_native{};  ///< of those below, the innermost first
    std::optional<std::uint64_t> caller{};   ///< where the compiled code returns to
};

/// Follows the frame records of native code that compiled code has called (the procedure call
/// standard for aarch64: x29 leads to a pair of the caller's x29 and a return address). Compiled
/// code runs with x29 and sp at the scheduler's registers; its fragments put a record right below
/// them (jit/arm/process_main.cpp; beam_asm.hpp, emit_enter_runtime_frame(); OTP 25 to 29). A
/// function that has no record yet, or never, returns to where x30 says: only what compiled code
/// has called counts as such. Nothing: the records do not lead to the registers.
std::optional<FrameRecords> frame_records(const ThreadRegisters& thread, std::uint64_t registers,
                                          memory::MemorySource& memory);

}  // namespace beamdump::arch::aarch64
