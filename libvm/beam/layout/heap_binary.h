#pragma once

#include <libdump/term/term_scheme.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace beamdump::beam {

/// What a heap binary has before its bytes, and at most behind them up to the next word.
inline constexpr std::size_t kHeapBinaryMargin = (otp25::kHeapBinaryData + 1) * kWordBytes;

/// Makes the heap binary whose bytes begin at `begin` in `words`, and are `bytes`, one of the text
/// `by`, which takes no more words. Words that are left become a big integer, as the VM itself puts
/// one into words of a heap that it does not use (dist.c, and beam_common.c for maps; OTP 25.2.3).
/// False, and nothing is changed, if it is no such binary.
bool replace_heap_binary(std::span<std::byte> words, std::size_t begin, std::size_t bytes,
                         std::string_view by, const TagScheme& scheme);

}  // namespace beamdump::beam
