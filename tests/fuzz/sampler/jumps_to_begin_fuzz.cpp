// Searches arbitrary machine code for jumps to its first byte: one that is appended is found.

#include "calls/named_function.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    std::vector<std::byte> code(input.begin(), input.end());
    const bool found = beamdump::sampler::jumps_to_begin(code);
    constexpr std::byte kJump{0xE9};
    constexpr std::int32_t kJumpBytes = 5;
    const auto distance = -(static_cast<std::int32_t>(size) + kJumpBytes);
    code.push_back(kJump);
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(distance)>>(distance);
    code.insert(code.end(), bytes.begin(), bytes.end());
    if (!beamdump::sampler::jumps_to_begin(code)) {
        std::abort();
    }
    // More code behind it changes nothing of what was found.
    code.erase(code.begin() + static_cast<std::ptrdiff_t>(size), code.end());
    code.insert(code.end(), 2, std::byte{0x90});
    if (found && !beamdump::sampler::jumps_to_begin(code)) {
        std::abort();
    }
    return 0;
}
