#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump {

/// Bytes of "4096", "64K", "64KiB", "2G" or "2 GiB": K, M, G, T, P and E are powers of 1024, in
/// either case, alone or with B, i or iB behind them. Nothing for other text, and beyond 64 bits.
/// The one grammar of sizes of all programs.
std::optional<std::uint64_t> byte_amount(std::string_view text);

}  // namespace beamdump
