#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

namespace beamdump {

namespace {

/// erl_term.h of OTP 25.2.3, ARCH_64.
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
    .pid_bits = 28,
    .pid_number_bits = 15,
    .port_bits = 28,
    .heap_binary_in_bits = false,
    .refc_words = otp25::kRefcWords,
    .refc_binary = 3,
    .fun_in_header = false,
    .fun_creator = otp25::kFunCreator,
    .fun_environment = otp25::kFunEnvironment,
    .export_words = otp25::kFunEnvironment,
    .pid_in_reference = false,
    .large_maps_as_pairs = false,
};

/// erl_term.h, erl_ptab.h, erl_map.c, erl_bif_info.c and erl_printf_term.c of OTP 26.2.5, ARCH_64.
constexpr TagScheme otp26_scheme() {
    TagScheme scheme = kOtp25Scheme;
    scheme.id = format::TermScheme::kOtp26;
    scheme.pid_bits = 60;
    scheme.pid_number_bits = 28;
    scheme.port_bits = 60;
    scheme.slots_in_identifiers = true;
    scheme.pid_in_reference = true;
    scheme.large_maps_as_pairs = true;
    scheme.atom_keys_by_index = true;
    scheme.writable_binaries_listed = true;
    return scheme;
}

/// erl_term.h, erl_bits.h, erl_fun.h and erl_printf_term.c of OTP 27.3.4, ARCH_64.
constexpr TagScheme otp27_scheme() {
    TagScheme scheme = otp26_scheme();
    scheme.id = format::TermScheme::kOtp27;
    scheme.by_subtag[1] = BoxedKind::kFunRef;
    scheme.by_subtag[7] = BoxedKind::kUnknown;
    scheme.by_subtag[8] = BoxedKind::kHeapBinary;
    scheme.by_subtag[9] = BoxedKind::kSubBits;
    scheme.by_subtag[10] = BoxedKind::kRefcBinary;
    scheme.by_subtag[11] = BoxedKind::kFlatMap;
    scheme.by_subtag[15] = BoxedKind::kUnknown;
    scheme.heap_binary_in_bits = true;
    scheme.refc_words = 3;
    scheme.refc_binary = 1;
    scheme.fun_in_header = true;
    scheme.fun_creator = 0;
    scheme.fun_environment = otp27::kFunEnvironment;
    scheme.export_words = otp27::kFunEnvironment;
    return scheme;
}

/// erl_term.h, erl_fun.h, erl_record.h and erl_printf_term.c of OTP 29.1.1, ARCH_64.
constexpr TagScheme otp29_scheme() {
    TagScheme scheme = otp27_scheme();
    scheme.id = format::TermScheme::kOtp29;
    scheme.by_subtag[1] = BoxedKind::kUnknown;
    scheme.by_subtag[7] = BoxedKind::kRecord;
    scheme.fun_kind_in_header = true;
    scheme.prints_no_value = true;
    return scheme;
}

/// erl_term.h, erl_fun.h and export.h of OTP 24.3.4.4, ARCH_64: an external fun is an object of its
/// own.
constexpr TagScheme otp24_scheme() {
    TagScheme scheme = kOtp25Scheme;
    scheme.id = format::TermScheme::kOtp24;
    scheme.by_subtag[7] = BoxedKind::kFun;
    scheme.export_header = otp24::kExportHeader;
    scheme.fun_counts_apart = true;
    scheme.empty_tuple_is_copied = true;
    scheme.fun_creator = otp24::kFunCreator;
    scheme.fun_environment = otp24::kFunEnvironment;
    scheme.export_words = otp24::kExportWords;
    return scheme;
}

/// For converted crash dumps: objects have the node's sizes; tags are invented if those of OTP 25
/// do not fit. erl_fun.h and export.h of R12B-5 to OTP 24.3.4: an ErlFunThing has six words before
/// its environment, and an export fun has two.
constexpr TagScheme r12_scheme() {
    TagScheme scheme = kOtp25Scheme;
    scheme.id = format::TermScheme::kR12;
    scheme.fun_in_header = true;
    scheme.fun_kind_in_header = true;
    scheme.fun_creator = 0;
    scheme.empty_tuple_is_copied = true;
    scheme.fun_environment = otp24::kFunEnvironment;
    scheme.export_words = otp24::kExportWords;
    return scheme;
}

/// global.h of R10B-10 and R11B-5: a ProcBin has no flags.
constexpr TagScheme r11_scheme() {
    TagScheme scheme = r12_scheme();
    scheme.id = format::TermScheme::kR11;
    scheme.refc_words = otp24::kRefcWordsOfR11;
    return scheme;
}

std::uint64_t byte_of(std::uint64_t word, unsigned index) {
    return (word >> (8 * index)) & 0xFFU;
}

/// Number of free variables of a fun whose header does not have it.
std::optional<std::uint64_t> fun_free_variables(const TagScheme& scheme,
                                                std::span<const std::uint64_t> words) {
    constexpr std::uint64_t kMostFree = 0xFF;
    const auto place = fun_free_word(scheme);
    if (words.size() <= place) {
        return std::nullopt;
    }
    const auto free = scheme.fun_counts_apart ? words[place] : byte_of(words[place], 1);
    return free <= kMostFree ? std::optional(free) : std::nullopt;
}

/// Words of an object whose header arity counts all words after the header.
std::optional<std::uint64_t> plain_words(std::uint64_t arity, std::uint64_t lowest,
                                         std::uint64_t highest) {
    if (arity < lowest || arity > highest) {
        return std::nullopt;
    }
    return arity + 1;
}

std::optional<std::uint64_t> heap_binary_words(const TagScheme& scheme, std::uint64_t arity,
                                               std::span<const std::uint64_t> words) {
    if (words.size() <= otp25::kBinarySize) {
        return std::nullopt;
    }
    const std::uint64_t size = words[otp25::kBinarySize];
    const std::uint64_t bytes =
        scheme.heap_binary_in_bits ? size / 8 + (size % 8 != 0 ? 1 : 0) : size;
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

std::optional<std::uint64_t> fun_words(const TagScheme& scheme,
                                       std::span<const std::uint64_t> words) {
    if (scheme.fun_in_header) {
        // MAKE_FUN_HEADER: subtag, arity and environment, a byte each; then the kind, or nothing.
        const std::uint64_t environment = words[0] >> 16U;
        if (scheme.fun_kind_in_header && environment == otp29::kFunExternal) {
            return scheme.export_words;
        }
        const std::uint64_t most = scheme.fun_kind_in_header ? 0xFFU : 0xFFFU;
        return environment <= most ? std::optional(scheme.fun_environment + environment)
                                   : std::nullopt;
    }
    if (is_export_object(scheme, words[0])) {
        return words[0] == scheme.export_header ? std::optional(scheme.export_words) : std::nullopt;
    }
    const auto free = fun_free_variables(scheme, words);
    return free ? std::optional(scheme.fun_environment + *free) : std::nullopt;
}

std::uint64_t bitmap_items(std::uint64_t header) {
    return static_cast<std::uint64_t>(std::popcount(map_bitmap(header)));
}

}  // namespace

Result<TagScheme> scheme_of(format::TermScheme id) {
    if (id == format::TermScheme::kOtp25) {
        return kOtp25Scheme;
    }
    if (id == format::TermScheme::kOtp26) {
        return otp26_scheme();
    }
    if (id == format::TermScheme::kOtp27) {
        return otp27_scheme();
    }
    if (id == format::TermScheme::kOtp29) {
        return otp29_scheme();
    }
    if (id == format::TermScheme::kOtp24) {
        return otp24_scheme();
    }
    if (id == format::TermScheme::kR12) {
        return r12_scheme();
    }
    if (id == format::TermScheme::kR11) {
        return r11_scheme();
    }
    return fail(ErrorCode::kUnsupported,
                fmt::format("unknown term scheme {}: its terms cannot be read by this version",
                            static_cast<unsigned>(id)));
}

bool is_external_fun(const TagScheme& scheme, std::span<const std::uint64_t> words) {
    if (scheme.fun_kind_in_header) {
        return words[0] >> 16U == otp29::kFunExternal;
    }
    if (scheme.export_header != 0) {
        return is_export_object(scheme, words[0]);
    }
    // A local fun of OTP 27 has at least its FunRef.
    return scheme.fun_in_header ? words[0] >> 16U == 0
                                : word_kind(scheme, words[scheme.fun_creator]) == WordKind::kAtom;
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
        case BoxedKind::kRecord:
            return plain_words(arity, 1, scheme.max_tuple_arity);
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
            return plain_words(arity, scheme.refc_words - 1, scheme.refc_words - 1);
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
            return plain_words(arity, otp25::kExternalData, otp25::kExternalData);
        case BoxedKind::kExternalReference:
            return plain_words(arity, otp25::kExternalData, otp25::kExternalData + 2);
        case BoxedKind::kSubBinary:
            // The original's word is not in the header's arity: it is a term.
            return arity == otp25::kSubWords - 2 ? std::optional(otp25::kSubWords) : std::nullopt;
        case BoxedKind::kSubBits:
            return plain_words(arity, otp27::kSubWords - 1, otp27::kSubWords - 1);
        case BoxedKind::kFunRef:
            return plain_words(arity, otp27::kFunRefWords - 1, otp27::kFunRefWords - 1);
        case BoxedKind::kHeapBinary:
            return heap_binary_words(scheme, arity, words);
        case BoxedKind::kFun:
            return fun_words(scheme, words);
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
        case BoxedKind::kRecord:
            return TermRange{1, *size - 1};
        case BoxedKind::kFun: {
            if (is_export_object(scheme, words[0])) {
                return TermRange{};
            }
            const auto first =
                scheme.fun_creator == 0 ? scheme.fun_environment : scheme.fun_creator;
            return *size > first ? TermRange{first, *size - first} : TermRange{};
        }
        case BoxedKind::kSubBits:
            return TermRange{otp27::kSubOriginal, 1};
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
