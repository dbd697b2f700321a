#pragma once

#include <libdump/base/error.h>
#include <libvm/target/process/head_room.h>

#include <cstdint>

namespace beamdump::program {

/// Where less is left, a program does not even start: it takes so much before it can say anything.
inline constexpr std::uint64_t kStartBytes = std::uint64_t{4} << 20U;

/// kLimit: less than `needed` is left, with what to do about it. `left`: HeadRoom::memory() of this
/// process.
Result<void> check_own_memory(const target::Room& left, std::uint64_t needed);

/// From here on an allocation fails that makes this process larger than `bytes`, all of it counted,
/// page tables too; each thread gets a small stack. kLimit: the limit could not be set.
Result<void> limit_own_memory(std::uint64_t bytes);

/// Sees to it that what must be first in this process happens before main(), and before the
/// constructors of its libraries: be_first_to_go(), and the end of this process, with a sentence
/// and status 1, where less than kStartBytes are left. The former does not protect a node whose
/// resident file pages count for another cgroup: the kernel may take it for the larger of two.
void keep_before_all();

}  // namespace beamdump::program
