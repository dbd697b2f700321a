#pragma once

#include <cstdint>

namespace beamdump {

/// The smallest page that any architecture has. What is known of memory piece by piece (which parts
/// are there, which could be read) is known of pieces of so many bytes; larger pages are several.
inline constexpr std::uint64_t kLeastPageBytes = 4096;

/// The bytes of a page of this system's memory, and of what the kernel keeps of files: 4 KiB on
/// x86-64; on aarch64 4, 16 or 64 KiB.
std::uint64_t page_bytes();

}  // namespace beamdump
