#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump {

/// Data of a .beam file unpacks to this at most.
inline constexpr std::uint64_t kMaxUnpacked = std::uint64_t{256} << 20U;

enum class BeamPacking : std::uint8_t { kGzip, kZlib };

/// Unpacks `packed`. kCorrupt: it is damaged; kLimit: there is more than kMaxUnpacked.
Result<std::vector<std::uint8_t>> unpack(std::span<const std::uint8_t> packed, BeamPacking packing);

}  // namespace beamdump
