#pragma once

#include <cstdint>

namespace beamdump::arch::aarch64 {

/// DWARF's numbers of registers (DWARF for the Arm 64-bit Architecture, 4.1), by what compiled code
/// keeps in them, as thread_registers() says: x0 to x30 have their own numbers, sp has 31.
enum class DwarfRegister : std::uint8_t {
    kStackTop = 20,
    kProcess = 21,
    kReductionsLeft = 22,
    kHeapTop = 23,
};

}  // namespace beamdump::arch::aarch64
