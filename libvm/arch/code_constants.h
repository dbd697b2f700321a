#pragma once

#include <libdump/base/architecture.h>
#include <libvm/arch/common/code_constants.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump::arch {

/// Calls `visit` for each constant from `least` on that code of that architecture may name,
/// addresses among them, some of which are none. x86-64 has constants of 4 and 8 bytes anywhere in
/// its code; aarch64 puts them together by movz and movk.
void each_code_constant(Architecture architecture, std::span<const std::byte> code,
                        std::uint64_t least, const VisitConstant& visit);

}  // namespace beamdump::arch
