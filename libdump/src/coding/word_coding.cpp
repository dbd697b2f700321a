#include <libdump/base/bytes.h>
#include <libdump/coding/word_coding.h>

#include <array>

namespace beamdump::coding {
namespace {

constexpr std::uint64_t kUserMemoryEnd = 1ULL << 56U;
/// Distance 0. All distances are within 2^56 of it, so none is an address of user memory.
constexpr std::uint64_t kNoDistance = 0x5B5B'0000'0000'0000;

using Block = std::array<std::uint64_t, kWordBytes>;

/// Exchanges the bits of `mask` in `low` with those `shift` bits higher in `high`.
void exchange(std::uint64_t& low, std::uint64_t& high, unsigned shift, std::uint64_t mask) {
    const std::uint64_t difference = ((low >> shift) ^ high) & mask;
    high ^= difference;
    low ^= difference << shift;
}

/// Makes byte j of word i byte i of word j (Hacker's Delight, 7-3, for bytes).
void transpose(Block& block) {
    for (std::size_t i = 0; i < 4; ++i) {
        exchange(block[i], block[i + 4], 32, 0x0000'0000'FFFF'FFFF);
    }
    for (const std::size_t i : {0U, 1U, 4U, 5U}) {
        exchange(block[i], block[i + 2], 16, 0x0000'FFFF'0000'FFFF);
    }
    for (const std::size_t i : {0U, 2U, 4U, 6U}) {
        exchange(block[i], block[i + 1], 8, 0x00FF'00FF'00FF'00FF);
    }
}

std::uint64_t word_at(std::span<const std::byte> words, std::size_t index) {
    return load_known<std::uint64_t>(words, index * kWordBytes);
}

}  // namespace

bool has_distances(RegionRange range) {
    return range.begin <= kUserMemoryEnd && range.bytes <= kUserMemoryEnd - range.begin;
}

void swap_distances(std::span<std::byte> words, RegionRange range, std::uint64_t first_address) {
    const auto count = words.size() / kWordBytes;
    // The coded distance is the pointer plus this, which decreases from word to word.
    std::uint64_t offset = kNoDistance - first_address;
    for (std::size_t i = 0; i < count; ++i, offset -= kWordBytes) {
        const auto word = word_at(words, i);
        const bool pointer = word - range.begin < range.bytes;
        const bool distance = word - offset - range.begin < range.bytes;
        store(words, i * kWordBytes, pointer ? word + offset : distance ? word - offset : word);
    }
}

std::size_t words_like_text(std::span<const std::byte> words) {
    constexpr std::uint64_t kHigh = 48;
    constexpr auto kNear = kNoDistance >> kHigh;
    std::size_t found = 0;
    for (std::size_t i = 0; i < words.size() / kWordBytes; ++i) {
        const auto high = word_at(words, i) >> kHigh;
        found += high != 0 && high != 0xFFFF && high != kNear && high != kNear - 1 ? 1U : 0U;
    }
    return found;
}

void to_differences(std::span<std::byte> words) {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < words.size() / kWordBytes; ++i) {
        const auto word = word_at(words, i);
        store(words, i * kWordBytes, word - last);
        last = word;
    }
}

void from_differences(std::span<std::byte> words) {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < words.size() / kWordBytes; ++i) {
        last += word_at(words, i);
        store(words, i * kWordBytes, last);
    }
}

void to_planes(std::span<std::byte> words, std::span<std::byte> scratch) {
    const auto count = words.size() / kWordBytes;
    const auto planes = scratch.first(words.size());
    std::size_t i = 0;
    for (; i + kWordBytes <= count; i += kWordBytes) {
        Block block{};
        std::memcpy(block.data(), words.data() + i * kWordBytes, sizeof(block));
        transpose(block);
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            std::memcpy(planes.data() + plane * count + i, &block[plane], kWordBytes);
        }
    }
    for (; i < count; ++i) {
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            planes[plane * count + i] = words[i * kWordBytes + plane];
        }
    }
    std::memcpy(words.data(), planes.data(), planes.size());
}

void from_planes(std::span<std::byte> words, std::span<std::byte> scratch) {
    const auto count = words.size() / kWordBytes;
    const auto planes = scratch.first(words.size());
    std::memcpy(planes.data(), words.data(), planes.size());
    std::size_t i = 0;
    for (; i + kWordBytes <= count; i += kWordBytes) {
        Block block{};
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            std::memcpy(&block[plane], planes.data() + plane * count + i, kWordBytes);
        }
        transpose(block);
        std::memcpy(words.data() + i * kWordBytes, block.data(), sizeof(block));
    }
    for (; i < count; ++i) {
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            words[i * kWordBytes + plane] = planes[plane * count + i];
        }
    }
}

}  // namespace beamdump::coding
