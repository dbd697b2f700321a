#pragma once

#include <libdump/format/format.h>

#include <records.pb.h>

#include <cstdint>

namespace beamdump {

/// Addresses from here on are made up: those of what keeps a Binary, where a crash dump does not
/// print it.
inline constexpr std::uint64_t kMadeUpAddresses = 0x0F00'0000'0000'0000;

/// Where an address of a process in a crash dump lies: kHeap, kOldHeap or kHeapFragment, where the
/// process's facts leave but one of them; else kUnplaced. The text tells the bounds of the new heap
/// alone, and these only where it has a return address with its place on the stack. `literals`:
/// whether they are known apart (from OTP 20 on).
format::RegionKind place_in_crash_dump(const records::Process& process, bool literals,
                                       std::uint64_t address);

}  // namespace beamdump
