#pragma once

#include <cstddef>
#include <cstdint>

namespace beamdump::beam {

// Numbers that are fixed in the runtime's sources, the same in OTP 25 and 27.

/// Schedulers of each kind (erl_process.h: ERTS_MAX_NO_OF_SCHEDULERS).
inline constexpr std::uint32_t kMaxSchedulers = 1024;
/// Slots of the tables of processes and ports (erl_ptab.h: ERTS_PTAB_MAX_SIZE).
inline constexpr std::uint32_t kMaxPtabSlots = 1U << 27U;
/// Numbers of a reference that this node made, of 32 bits each (erl_term.h: ERTS_REF_NUMBERS).
inline constexpr std::size_t kReferenceNumbers = 3;

}  // namespace beamdump::beam
