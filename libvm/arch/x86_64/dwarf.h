#pragma once

#include <cstdint>

namespace beamdump::arch::x86_64 {

/// DWARF's numbers of registers (System V ABI, figure 3.36): the first 16, then the return address.
/// Compiled code keeps in them what thread_registers() says.
enum class DwarfRegister : std::uint8_t {
    kRax,
    kRdx,
    kRcx,
    kRbx,
    kRsi,
    kRdi,
    kRbp,
    kRsp,
    kR8,
    kR9,
    kR10,
    kR11,
    kR12,
    kR13,
    kR14,
    kR15,
    kRip,
};

}  // namespace beamdump::arch::x86_64
