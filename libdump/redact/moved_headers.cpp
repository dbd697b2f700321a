#include <libdump/redact/moved_headers.h>

#include <algorithm>
#include <array>

namespace beamdump::redact {
namespace {

/// SUB_BINARY_SUBTAG (erl_term.h, up to OTP 26), without the original's word, as the VM counts.
constexpr std::uint64_t kSubBinaryHeader = (otp25::kSubWords - 2) << 6U | 10U << 2U;
constexpr std::uint64_t kMostConvertedBytes = 3 * kWordBytes;

bool is_like_sub_binary(const TagScheme& scheme, std::span<const std::uint64_t> original,
                        std::uint64_t bytes) {
    return original.size() >= otp25::kSubWords && original[otp25::kBinarySize] == bytes &&
           // All are 0 in one that is converted.
           (original[otp25::kSubBits] & kSubBitsMask) == 0 &&
           word_kind(scheme, original[otp25::kSubOriginal]) == WordKind::kBoxed;
}

}  // namespace

std::optional<std::uint64_t> MovedHeaders::header(std::uint64_t original, std::uint64_t copy) {
    std::array<std::uint64_t, otp25::kSubWords> of_original{};
    std::array<std::uint64_t, otp25::kSubWords> of_copy{};
    const auto copied = std::span(of_copy).first(words(copy, of_copy));
    const auto left = std::span(of_original).first(words(original, of_original));
    const auto found = header_before_move(scheme_, left, copied);
    any_unknown_ |= !found;
    return found;
}

std::optional<std::uint64_t> header_before_move(const TagScheme& scheme,
                                                std::span<const std::uint64_t> original,
                                                std::span<const std::uint64_t> copy) {
    if (copy.empty() || boxed_kind(scheme, copy[0]) == BoxedKind::kUnknown) {
        return std::nullopt;
    }
    const bool may_be_converted = boxed_kind(scheme, copy[0]) == BoxedKind::kHeapBinary &&
                                  !scheme.heap_binary_in_bits && copy.size() > otp25::kBinarySize &&
                                  copy[otp25::kBinarySize] <= kMostConvertedBytes;
    if (!may_be_converted || !is_like_sub_binary(scheme, original, copy[otp25::kBinarySize])) {
        return copy[0];
    }
    // The words looked at above are behind the data of a heap binary, if that has up to one word.
    const auto words = (copy[otp25::kBinarySize] + kWordBytes - 1) / kWordBytes;
    if (words <= 1) {
        return kSubBinaryHeader;
    }
    if (copy.size() < otp25::kHeapBinaryData + words) {
        return std::nullopt;
    }
    // The last word is compared without what pads the data.
    const auto bytes = copy[otp25::kBinarySize] - (words - 1) * kWordBytes;
    const auto last = otp25::kHeapBinaryData + words - 1;
    const bool same = std::ranges::equal(original.subspan(otp25::kHeapBinaryData, words - 1),
                                         copy.subspan(otp25::kHeapBinaryData, words - 1)) &&
                      ((original[last] ^ copy[last]) << (kWordBytes - bytes) * 8U) == 0;
    return same ? std::nullopt : std::optional(kSubBinaryHeader);
}

}  // namespace beamdump::redact
