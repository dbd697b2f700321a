#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/shown_parts.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace beamdump::beam {
namespace {

/// As long as a binary can be: its bits fit a word (erl_binary.h, IS_BINARY_SIZE_OK).
constexpr std::uint64_t kMostBits = ~std::uint64_t{0} >> 4U;
constexpr std::size_t kWordsAtOnce = 16;

std::uint64_t word_at(std::span<const std::byte> words, std::size_t index) {
    std::uint64_t word = 0;
    std::memcpy(&word, words.data() + index * kWordBytes, kWordBytes);
    return word;
}

/// Whether a whole block may hold a header: the upper half of a header is 0, so that only halves
/// are compared. All words of a capture pass here, and the compiler compares several halves at
/// once.
bool may_hold(const std::byte* block, std::uint64_t header) {
    std::array<std::uint32_t, kWordsAtOnce * 2> halves{};
    std::memcpy(halves.data(), block, sizeof(halves));
    std::uint32_t any = 0;
    for (const auto half : halves) {
        any |= half == static_cast<std::uint32_t>(header) ? 1U : 0U;
    }
    return any != 0;
}

}  // namespace

Result<ShownParts> ShownParts::open(Vm& vm) {
    ASSIGN_OR_RETURN(const auto id, vm.layout().constant(runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(const auto scheme, scheme_of(static_cast<format::TermScheme>(id)));
    LayoutNames names(vm.layout());
    const BinaryFields binary(names);
    RETURN_IF_ERROR(names.outcome());
    const auto& kinds = scheme.by_subtag;
    const bool bits = std::ranges::find(kinds, BoxedKind::kSubBits) != kinds.end();
    const auto kind = std::ranges::find(kinds, bits ? BoxedKind::kSubBits : BoxedKind::kSubBinary);
    const auto subtag = static_cast<std::uint64_t>(std::distance(kinds.begin(), kind)) << 2U;
    // The arity does not count the word of an ErlSubBin's original, which is a term.
    const std::uint64_t arity = bits ? kWords - 1 : kWords - 2;
    return ShownParts(bits, arity << 6U | subtag, binary.content,
                      vm.sizes().binary_slots / kSlotsOfASub);
}

void ShownParts::look(Address begin, std::span<const std::byte> words) {
    constexpr std::size_t kTailBytes = (kWords - 1) * kWordBytes;
    if (begin != next_) {
        tail_.clear();
    }
    if (!tail_.empty()) {
        const auto head = words.first(std::min(words.size(), kTailBytes));
        std::vector<std::byte> border(tail_);
        border.insert(border.end(), head.begin(), head.end());
        search(border);
    }
    search(words);
    const auto tail = words.last(std::min(words.size(), kTailBytes));
    if (tail.size() < kTailBytes) {
        const auto kept = std::min(tail_.size(), kTailBytes - tail.size());
        tail_.erase(tail_.begin(), tail_.end() - static_cast<std::ptrdiff_t>(kept));
    } else {
        tail_.clear();
    }
    tail_.insert(tail_.end(), tail.begin(), tail.end());
    next_ = begin + words.size();
}

void ShownParts::search(std::span<const std::byte> words) {
    const auto count = words.size() / kWordBytes;
    const auto here = [&](std::size_t index) {
        std::array<std::uint64_t, kWords> object{};
        std::memcpy(object.data(), words.data() + index * kWordBytes, sizeof(object));
        take(object);
    };
    const auto last = count < kWords ? 0 : count - kWords + 1;
    for (std::size_t at = 0; at < last;) {
        const auto until = std::min(at + kWordsAtOnce, last);
        const bool any =
            until - at < kWordsAtOnce || may_hold(words.data() + at * kWordBytes, header_);
        for (auto index = at; any && index < until; ++index) {
            if (word_at(words, index) == header_) {
                here(index);
            }
        }
        at = until;
    }
}

void ShownParts::take(const std::array<std::uint64_t, kWords>& words) {
    static_assert(otp25::kSubOriginal == otp27::kSubOriginal);
    const auto original = words[otp25::kSubOriginal];
    if (!is_boxed(original) || subs_.size() >= most_) {
        return;
    }
    Sub sub;
    sub.thing = boxed_address(original);
    if (bits_) {
        const bool moved = (words[otp27::kSubBase] & otp27::kSubVolatile) != 0;
        sub.base = moved ? 0 : words[otp27::kSubBase] & ~otp27::kSubFlags;
        sub.begin = words[otp27::kSubStart];
        sub.end = words[otp27::kSubEnd];
    } else {
        const auto bits = words[otp25::kSubBits];
        if (words[otp25::kSubOffset] > kMostBits / 8 || words[otp25::kBinarySize] > kMostBits / 8) {
            return;
        }
        sub.begin = words[otp25::kSubOffset] * 8 + (bits >> 8U & 0x7U);
        sub.end = sub.begin + words[otp25::kBinarySize] * 8 + (bits & 0x7U);
    }
    if (sub.begin >= sub.end || sub.end > kMostBits || (!subs_.empty() && subs_.back() == sub)) {
        return;
    }
    auto& taken = taken_[sub.thing / kWordBytes % taken_.size()];
    if (taken.thing != sub.thing) {
        taken = {sub.thing, 0};
    }
    if (taken.subs < kMostOfAThing) {
        ++taken.subs;
        subs_.push_back(sub);
        sorted_ = false;
    }
}

std::span<const ShownPart> ShownParts::of(const BinaryReference& reference) {
    parts_.clear();
    const auto data = reference.binary + content_.offset;
    const auto begin = reference.content == 0 ? data : reference.content;
    const auto add = [&](Address first, std::uint64_t bytes) {
        if (first >= data && bytes != 0) {
            parts_.push_back({first - data, bytes});
        }
    };
    if (reference.content != 0) {
        add(begin, reference.bytes);
    }
    if (!sorted_) {
        std::ranges::sort(subs_);
        sorted_ = true;
    }
    for (const auto& sub : std::ranges::equal_range(subs_, reference.thing, {}, &Sub::thing)) {
        const auto first = sub.begin / 8;
        add((sub.base == 0 ? begin : sub.base) + first, (sub.end + 7) / 8 - first);
    }
    return parts_;
}

void ShownParts::clear() {
    if (!subs_.empty()) {
        subs_.clear();
        taken_.fill({});
    }
    tail_.clear();
    next_ = 0;
}

}  // namespace beamdump::beam
