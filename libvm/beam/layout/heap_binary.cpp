#include <libvm/beam/layout/heap_binary.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace beamdump::beam {
namespace {

constexpr std::size_t kBefore = otp25::kHeapBinaryData * kWordBytes;
constexpr unsigned kSubtagShift = 2;  // erl_term.h: bits 2 to 5 of a header

std::size_t words_of(std::size_t bytes) {
    return (bytes + kWordBytes - 1) / kWordBytes;
}

std::uint64_t with_arity(std::uint64_t header, std::uint64_t arity) {
    return (header & kHeaderTagMask) | arity << kHeaderArityShift;
}

std::uint64_t big_integer(const TagScheme& scheme, std::uint64_t arity) {
    const auto subtag =
        std::ranges::find(scheme.by_subtag, BoxedKind::kPositiveBig) - scheme.by_subtag.begin();
    return with_arity(static_cast<std::uint64_t>(subtag) << kSubtagShift, arity);
}

}  // namespace

bool replace_heap_binary(std::span<std::byte> words, std::size_t begin, std::size_t bytes,
                         std::string_view by, const TagScheme& scheme) {
    const auto taken = words_of(bytes);
    const auto needed = words_of(by.size());
    if (begin % kWordBytes != 0 || begin < kBefore || needed > taken ||
        begin + taken * kWordBytes > words.size()) {
        return false;
    }
    const std::uint64_t unit = scheme.heap_binary_in_bits ? 8 : 1;
    std::array<std::uint64_t, otp25::kHeapBinaryData> head{};
    std::memcpy(head.data(), words.data() + begin - kBefore, kBefore);
    if (boxed_kind(scheme, head[0]) != BoxedKind::kHeapBinary ||
        header_arity(head[0]) != taken + 1 || head[otp25::kBinarySize] != bytes * unit) {
        return false;
    }
    head = {with_arity(head[0], needed + 1), by.size() * unit};
    std::memcpy(words.data() + begin - kBefore, head.data(), kBefore);
    const auto data = words.subspan(begin, taken * kWordBytes);
    std::ranges::fill(data, std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(by)), data.begin());
    if (taken > needed) {
        const auto filler = big_integer(scheme, taken - needed - 1);
        std::memcpy(data.data() + needed * kWordBytes, &filler, kWordBytes);
    }
    return true;
}

}  // namespace beamdump::beam
