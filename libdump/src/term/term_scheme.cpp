#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

namespace beamdump {

namespace {

/// erl_term.h of OTP 25.2.3, ARCH_64. OTP 24 and 26 are the same in all that stands here.
constexpr TagScheme kOtp25Scheme = {
    .id = format::TermScheme::kOtp25,
    .non_value = 0,
    .nil = 0x3B,
    .by_primary = {WordKind::kHeader, WordKind::kList, WordKind::kBoxed, WordKind::kUnknown},
    .by_immediate1 = {WordKind::kPid, WordKind::kPort, WordKind::kUnknown, WordKind::kSmall},
    .by_immediate2 = {WordKind::kAtom, WordKind::kCatch, WordKind::kUnknown, WordKind::kNil},
    .by_subtag =
        {
            BoxedKind::kTuple,
            BoxedKind::kMatchContext,
            BoxedKind::kPositiveBig,
            BoxedKind::kNegativeBig,
            BoxedKind::kReference,
            BoxedKind::kFun,
            BoxedKind::kFloat,
            BoxedKind::kUnknown,
            BoxedKind::kRefcBinary,
            BoxedKind::kHeapBinary,
            BoxedKind::kSubBinary,
            BoxedKind::kUnknown,
            BoxedKind::kExternalPid,
            BoxedKind::kExternalPort,
            BoxedKind::kExternalReference,
            BoxedKind::kFlatMap,
        },
    .max_tuple_arity = (1U << 24U) - 1,
    .max_big_words = (1U << 19U) - 1,
};

std::uint64_t byte_of(std::uint64_t word, unsigned index) {
    return (word >> (8 * index)) & 0xFFU;
}

/// Words of everything whose header arity counts all words after the header.
std::optional<std::uint64_t> plain_words(std::uint64_t arity, std::uint64_t lowest,
                                         std::uint64_t highest) {
    if (arity < lowest || arity > highest) {
        return std::nullopt;
    }
    return arity + 1;
}

std::optional<std::uint64_t> heap_binary_words(std::uint64_t arity,
                                               std::span<const std::uint64_t> words) {
    if (words.size() <= otp25::kBinarySize) {
        return std::nullopt;
    }
    const std::uint64_t bytes = words[otp25::kBinarySize];
    const std::uint64_t data_words = bytes / kWordBytes + (bytes % kWordBytes != 0 ? 1 : 0);
    if (arity != data_words + 1) {
        return std::nullopt;
    }
    return arity + 1;
}

std::optional<std::uint64_t> flat_map_words(std::span<const std::uint64_t> words) {
    if (words.size() <= otp25::kFlatMapSize ||
        words[otp25::kFlatMapSize] > otp25::kMaxFlatMapSize) {
        return std::nullopt;
    }
    return otp25::kFlatMapValues + words[otp25::kFlatMapSize];
}

std::optional<std::uint64_t> fun_words(std::span<const std::uint64_t> words) {
    if (words.size() <= otp25::kFunCounts) {
        return std::nullopt;
    }
    return otp25::kFunEnvironment + byte_of(words[otp25::kFunCounts], 1);
}

std::uint64_t bitmap_items(std::uint64_t header) {
    return static_cast<std::uint64_t>(std::popcount(map_bitmap(header)));
}

}  // namespace

Result<TagScheme> scheme_of(format::TermScheme id) {
    if (id == format::TermScheme::kOtp25) {
        return kOtp25Scheme;
    }
    return fail(ErrorCode::kUnsupported,
                fmt::format("term scheme {} is not known to this version: its words cannot be read "
                            "as terms; a later version may",
                            static_cast<unsigned>(id)));
}

std::optional<std::uint64_t> boxed_words(const TagScheme& scheme,
                                         std::span<const std::uint64_t> words) {
    if (words.empty()) {
        return std::nullopt;
    }
    const std::uint64_t header = words[0];
    const std::uint64_t arity = header_arity(header);
    switch (boxed_kind(scheme, header)) {
        case BoxedKind::kTuple:
            return plain_words(arity, 0, scheme.max_tuple_arity);
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return plain_words(arity, 1, scheme.max_big_words);
        case BoxedKind::kMatchContext:
            return plain_words(arity, 4, 0xFFFF);
        case BoxedKind::kReference:
            return plain_words(arity, 2, 3);
        case BoxedKind::kFloat:
            return plain_words(arity, 1, 1);
        case BoxedKind::kRefcBinary:
            return plain_words(arity, otp25::kRefcWords - 1, otp25::kRefcWords - 1);
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
            return plain_words(arity, otp25::kExternalData, otp25::kExternalData);
        case BoxedKind::kExternalReference:
            return plain_words(arity, otp25::kExternalData, otp25::kExternalData + 2);
        case BoxedKind::kSubBinary:
            // The original's word is not in the header's arity: it is a term.
            return arity == otp25::kSubWords - 2 ? std::optional(otp25::kSubWords) : std::nullopt;
        case BoxedKind::kHeapBinary:
            return heap_binary_words(arity, words);
        case BoxedKind::kFun:
            return fun_words(words);
        case BoxedKind::kFlatMap:
            return flat_map_words(words);
        case BoxedKind::kHashMapNode:
            return otp25::kHashNodeItems + bitmap_items(header);
        case BoxedKind::kHashMapHead:
            return otp25::kHashHeadItems + bitmap_items(header);
        case BoxedKind::kUnknown:
            break;
    }
    return std::nullopt;
}

std::optional<TermRange> boxed_terms(const TagScheme& scheme,
                                     std::span<const std::uint64_t> words) {
    const auto size = boxed_words(scheme, words);
    if (!size) {
        return std::nullopt;
    }
    switch (boxed_kind(scheme, words[0])) {
        case BoxedKind::kTuple:
            return TermRange{1, *size - 1};
        case BoxedKind::kFun:
            return TermRange{otp25::kFunCreator, *size - otp25::kFunCreator};
        case BoxedKind::kFlatMap:
            return TermRange{otp25::kFlatMapKeys, *size - otp25::kFlatMapKeys};
        case BoxedKind::kHashMapNode:
            return TermRange{otp25::kHashNodeItems, *size - otp25::kHashNodeItems};
        case BoxedKind::kHashMapHead:
            return TermRange{otp25::kHashHeadItems, *size - otp25::kHashHeadItems};
        case BoxedKind::kSubBinary:
            return TermRange{otp25::kSubOriginal, 1};
        case BoxedKind::kMatchContext:
            return TermRange{1, 1};
        default:
            return TermRange{};
    }
}

}  // namespace beamdump
