#include <libdump/base/bytes.h>
#include <libdump/coding/word_coding.h>

#include <array>

namespace beamdump::coding {
namespace {

constexpr std::uint64_t kUserMemoryEnd = 1ULL << 56U;
/// Distance 0. All distances are within 2^56 of it, so none is an address of user memory.
constexpr std::uint64_t kNoDistance = 0x5B5B'0000'0000'0000;

/// 16 bytes that the compiler keeps in one register.
using Bytes __attribute__((vector_size(16))) = std::uint8_t;
constexpr std::size_t kBlockWords = sizeof(Bytes);
/// 16 words: the words, or a vector for each of their 8 planes.
using Block = std::array<Bytes, kWordBytes>;

/// Planes are used where fewer than one word in this many looks like a part of a text: they
/// separate the bytes of texts, which compress better side by side. Chosen on dumps of RabbitMQ,
/// ejabberd and the standard node.
constexpr std::size_t kWordsPerText = 8;

/// Takes bytes from the first and the second half of the block in turn. The 7 bits of each byte's
/// place are rotated by one; those of a word's number and of a byte's within the word change
/// places when this is done 4 times, and change back with 3 more.
void interleave(Block& block) {
    const Block from = block;
    for (std::size_t i = 0; i < block.size() / 2; ++i) {
        const Bytes first = from[i];
        const Bytes second = from[i + block.size() / 2];
        block[2 * i] = __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                               21, 6, 22, 7, 23);
        block[2 * i + 1] = __builtin_shufflevector(first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                   28, 13, 29, 14, 30, 15, 31);
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

bool planes_pay(std::size_t texts, std::size_t words) {
    return texts < words / kWordsPerText;
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
    if (count == 0) {
        return;
    }
    const auto planes = scratch.first(words.size());
    std::size_t i = 0;
    for (; i + kBlockWords <= count; i += kBlockWords) {
        Block block{};
        std::memcpy(block.data(), words.data() + i * kWordBytes, sizeof(block));
        for (int turns = 0; turns < 4; ++turns) {
            interleave(block);
        }
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            std::memcpy(planes.data() + plane * count + i, &block[plane], kBlockWords);
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
    if (count == 0) {
        return;
    }
    const auto planes = scratch.first(words.size());
    std::memcpy(planes.data(), words.data(), planes.size());
    std::size_t i = 0;
    for (; i + kBlockWords <= count; i += kBlockWords) {
        Block block{};
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            std::memcpy(&block[plane], planes.data() + plane * count + i, kBlockWords);
        }
        for (int turns = 0; turns < 3; ++turns) {
            interleave(block);
        }
        std::memcpy(words.data() + i * kWordBytes, block.data(), sizeof(block));
    }
    for (; i < count; ++i) {
        for (std::size_t plane = 0; plane < kWordBytes; ++plane) {
            words[i * kWordBytes + plane] = planes[plane * count + i];
        }
    }
}

}  // namespace beamdump::coding
