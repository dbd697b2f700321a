#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace beamdump {

/// Decimal digits of an integer of any size: `magnitude` holds its words, lowest first (leading
/// zero words may be there). "0" for none; a minus sign is put before anything but 0. Time grows
/// with the square of the size (a million bits: about half a second), memory with the size.
std::string decimal(std::span<const std::uint64_t> magnitude, bool negative);

}  // namespace beamdump
