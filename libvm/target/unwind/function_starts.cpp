#include <libvm/target/unwind/function_starts.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace beamdump::target {
namespace {

/// Version 1; a relative pointer of 4 bytes to .eh_frame; a count of 4 bytes; a table of pairs of 4
/// bytes relative to the section.
constexpr std::array kForm = {std::byte{0x01}, std::byte{0x1b}, std::byte{0x03}, std::byte{0x3b}};
constexpr std::size_t kCountAt = 8;
constexpr std::size_t kTableAt = 12;
constexpr std::size_t kPairBytes = 8;

}  // namespace

std::optional<memory::Address> function_start(std::span<const std::byte> header,
                                              memory::Address header_address,
                                              memory::Address address) {
    if (header.size() < kTableAt || std::memcmp(header.data(), kForm.data(), kForm.size()) != 0) {
        return std::nullopt;
    }
    std::uint32_t count = 0;
    std::memcpy(&count, header.data() + kCountAt, sizeof(count));
    if (count > (header.size() - kTableAt) / kPairBytes) {
        return std::nullopt;
    }
    const auto begin_of = [&](std::size_t index) {
        std::int32_t distance = 0;
        std::memcpy(&distance, header.data() + kTableAt + index * kPairBytes, sizeof(distance));
        return header_address + static_cast<memory::Address>(std::int64_t{distance});
    };
    // The last one that does not begin after the address.
    std::size_t first = 0;
    std::size_t last = count;
    while (first < last) {
        const auto middle = first + (last - first) / 2;
        if (begin_of(middle) <= address) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first == 0 ? std::nullopt : std::optional(begin_of(first - 1));
}

}  // namespace beamdump::target
