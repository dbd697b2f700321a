#pragma once

#include <libdump/format/format.h>

#include <records.pb.h>

#include <cstdint>

namespace beamdump {

/// Invented addresses start here: for the objects that keep a Binary, which a crash dump does not
/// print.
inline constexpr std::uint64_t kMadeUpAddresses = 0x0F00'0000'0000'0000;

/// In exported text, an atom that the format cannot hold is written among the literals in external
/// format, and words refer to it there. The kernel's half of the addresses: no object of a node is
/// in it.
inline constexpr std::uint64_t kAtomObjects = 0xFFFF'8000'0000'0000;
constexpr std::uint64_t atom_object_address(std::uint64_t atom) {
    constexpr std::uint64_t kApart = 8;
    return kAtomObjects + atom * kApart;
}

/// The area of an address of a process in a crash dump: kHeap, kOldHeap or kHeapFragment if the
/// process's facts exclude the others; else kUnplaced. The text has only the bounds of the new
/// heap, and these only with a return address and its place on the stack. `literals`: whether the
/// text lists literals apart (from OTP 20 on).
format::RegionKind place_in_crash_dump(const records::Process& process, bool literals,
                                       std::uint64_t address);

}  // namespace beamdump
