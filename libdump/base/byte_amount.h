#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump {

/// Bytes of "4096", "64K", "64KiB", "2G" or "2GiB": K, M, G and T are powers of 1024, in either
/// case, alone or with B or iB behind them. Nothing for other text, and beyond 64 bits.
std::optional<std::uint64_t> byte_amount(std::string_view text);

}  // namespace beamdump
