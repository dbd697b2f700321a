#pragma once

#include <cstdint>

namespace beamdump {

/// The smallest heap size of the runtime that holds `words`, at least `min_words`. The sizes are
/// 12, 38, then each the sum of the two before plus one; from the 24th on 20% more each (erl_gc.c,
/// erts_init_gc and erts_next_heap_size, OTP 25.2.3).
std::uint64_t heap_block_words(std::uint64_t words, std::uint64_t min_words);

/// Words between stack and heap that the runtime leaves free: 4 in the JIT on x86-64 (erl_vm.h,
/// S_RESERVED, OTP 25.2.3).
inline constexpr std::uint64_t kStackReserveWords = 4;

struct HeapUse {
    std::uint64_t used_words = 0;  ///< heap, old heap and fragments, dead words included
    std::uint64_t live_words = 0;  ///< those that a collection would keep
    std::uint64_t stack_words = 0;
    std::uint64_t min_heap_words = 0;
    bool grow_next = false;  ///< the process is flagged to grow (F_HEAP_GROW)
    std::uint64_t heap_words = 0;
};

/// Words of the heap block after a major collection that needs no further room (erl_gc.c,
/// major_collection and adjust_after_fullsweep, OTP 25.2.3).
std::uint64_t heap_words_after_major(const HeapUse& use);

}  // namespace beamdump
