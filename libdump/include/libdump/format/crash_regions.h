#pragma once

#include <libdump/format/format.h>

#include <records.pb.h>

#include <cstdint>

namespace beamdump {

/// Addresses from here on are made up: those of what keeps a Binary, where a crash dump does not
/// print it.
inline constexpr std::uint64_t kMadeUpAddresses = 0x0F00'0000'0000'0000;

/// In text that is made of a dump, an atom that the format cannot hold stands among the literals in
/// external format, and words lead there. The kernel's half of the addresses: no object of a node
/// is in it.
inline constexpr std::uint64_t kAtomObjects = 0xFFFF'8000'0000'0000;
constexpr std::uint64_t atom_object_address(std::uint64_t atom) {
    constexpr std::uint64_t kApart = 8;
    return kAtomObjects + atom * kApart;
}

/// Where an address of a process in a crash dump lies: kHeap, kOldHeap or kHeapFragment, where the
/// process's facts leave but one of them; else kUnplaced. The text tells the bounds of the new heap
/// alone, and these only where it has a return address with its place on the stack. `literals`:
/// whether they are known apart (from OTP 20 on).
format::RegionKind place_in_crash_dump(const records::Process& process, bool literals,
                                       std::uint64_t address);

}  // namespace beamdump
