#pragma once

#include <libvm/arch/common/data_access.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace beamdump::arch::x86_64 {

/// See arch::data_accesses(). Variables are operands relative to the next instruction.
std::vector<DataAccess> data_accesses(std::span<const std::byte> code, std::uint64_t begin);

}  // namespace beamdump::arch::x86_64
