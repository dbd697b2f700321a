#pragma once

#include <libdump/base/architecture.h>
#include <libvm/arch/common/data_access.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace beamdump::arch {

/// What compiled C code of a node of that architecture, which begins at the address `begin`, does
/// with variables at known addresses, and what it calls: in the order of the code, up to an
/// instruction that is not understood. Code of aarch64 is not understood: nothing is found in it.
std::vector<DataAccess> data_accesses(Architecture architecture, std::span<const std::byte> code,
                                      std::uint64_t begin);

}  // namespace beamdump::arch
