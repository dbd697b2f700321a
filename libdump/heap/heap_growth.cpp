#include <libdump/heap/heap_growth.h>

#include <algorithm>

namespace beamdump {

namespace {

/// The first block size that is at least `words`, or with `strictly` more.
std::uint64_t block_size(std::uint64_t words, bool strictly) {
    constexpr int kFibonacciSizes = 23;
    constexpr std::uint64_t kLargest = (std::uint64_t{1} << 53U) / 8;
    std::uint64_t before = 12;
    std::uint64_t size = 38;
    if (words < before || (words == before && !strictly)) {
        return before;
    }
    for (int i = 2; size < words || (strictly && size == words); ++i) {
        const std::uint64_t next = i < kFibonacciSizes ? size + before + 1 : size + size / 5;
        before = size;
        size = next;
        if (size > kLargest) {
            return words;
        }
    }
    return size;
}

}  // namespace

std::uint64_t heap_block_words(std::uint64_t words, std::uint64_t min_words) {
    return std::max(block_size(words, false), min_words);
}

std::uint64_t heap_words_after_major(const HeapUse& use) {
    std::uint64_t block =
        heap_block_words(use.stack_words + use.used_words + kStackReserveWords, use.min_heap_words);
    if (block == use.heap_words && use.grow_next) {
        block = std::max(block_size(use.heap_words, true), use.min_heap_words);
    }
    const std::uint64_t needed = use.live_words + use.stack_words + kStackReserveWords;
    if (block < needed) {
        return heap_block_words(needed, use.min_heap_words);
    }
    if (4 * needed < block) {
        const std::uint64_t wanted = 2 * needed;
        const std::uint64_t smaller = wanted < use.min_heap_words
                                          ? use.min_heap_words
                                          : heap_block_words(wanted, use.min_heap_words);
        return std::min(block, smaller);
    }
    return block;
}

}  // namespace beamdump
