// Reads arbitrary bytes as the table of an .eh_frame_hdr: what is found is one of its entries.

#include <libvm/target/unwind/function_starts.h>

#include <cstdint>
#include <cstring>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::uint64_t address = 0;
    if (size < sizeof(address)) {
        return 0;
    }
    std::memcpy(&address, data, sizeof(address));
    const auto header = std::as_bytes(std::span(data, size)).subspan(sizeof(address));
    constexpr std::uint64_t kHeader = 0x100000000;
    const auto begin = beamdump::target::function_start(header, kHeader, address);
    // Entries are at most 2 GiB away.
    constexpr std::uint64_t kFar = 0x80000000;
    if (begin && (*begin < kHeader - kFar || *begin > kHeader + kFar || *begin > address)) {
        __builtin_trap();
    }
    return 0;
}
