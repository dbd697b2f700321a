#include <libdump/redact/word_pass.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace beamdump::redact {
namespace {

/// What stands in place of values: texts of x, the number 0, and a big integer's digits, which no
/// small integer's value has.
constexpr std::uint64_t kTextWord = 0x7878'7878'7878'7878;
constexpr std::uint64_t kDigit = 0xA5A5'A5A5'A5A5'A5A5;
constexpr std::uint64_t kSmallTag = 0xF;
constexpr std::uint64_t kZero = kSmallTag;
constexpr std::uint64_t kLetter = std::uint64_t{'x'} << 4U | kSmallTag;
constexpr std::int64_t kMaxCharacter = 0x10FFFF;
/// The header of a big integer without digits: what the VM itself fills single words with, so that
/// the words after it can be read.
constexpr std::uint64_t kNoObject = 0x8;

/// An element of a compressed row at the row's byte 1.
constexpr std::uint64_t kFirstByte = 1U << 2U;

/// Sizes and offsets below, in bits too; a text of six characters or more is above.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40U;
constexpr std::uint64_t kMaxHeader = std::numeric_limits<std::uint32_t>::max();
/// No node has as many atoms or catches.
constexpr std::uint64_t kMaxIndex = std::uint64_t{1} << 28U;
/// The bits of a pid's or port's data: a serial above is that of a node of centuries.
constexpr unsigned kMaxIdentifierBits = 40;
constexpr std::uint64_t kMaxSlot = std::uint64_t{1} << 24U;

/// The bytes of a fun's counts; what follows is the compiler's padding, which may hold anything.
constexpr std::uint64_t kFunCountsMask = 0xFFFF;

/// Words of the object if its header alone says them; 0: the words after it say them. nullopt: it
/// is no header of the scheme.
std::optional<std::uint64_t> words_by_header(const TagScheme& scheme, std::uint64_t header) {
    switch (boxed_kind(scheme, header)) {
        case BoxedKind::kFlatMap:
            return 0;
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig: {
            // Without digits, or with old words in their place: what the VM does not need.
            const auto digits = header_arity(header);
            return digits <= scheme.max_big_words ? std::optional(digits + 1) : std::nullopt;
        }
        case BoxedKind::kHeapBinary: {
            const auto arity = header_arity(header);
            return arity >= 1 ? std::optional(arity + 1) : std::nullopt;
        }
        case BoxedKind::kFun:
            if (!scheme.fun_in_header && !is_export_object(scheme, header)) {
                return 0;
            }
            return boxed_words(scheme, {&header, 1});
        default:
            return boxed_words(scheme, {&header, 1});
    }
}

}  // namespace

void WordPass::start(WordLayout layout, std::uint64_t words) {
    layout_ = layout;
    total_ = words;
    place_ = {.left = words};
    address_ = 0;
    row_begun_ = compressed_ = size_passed_ = false;
}

void WordPass::run(std::span<std::byte> words) {
    std::size_t at = 0;
    for (; words.size() - at >= kWordBytes; at += kWordBytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, words.data() + at, kWordBytes);
        place_.left -= place_.left == 0 ? 0 : 1;
        word = next(word);
        std::memcpy(words.data() + at, &word, kWordBytes);
        address_ += address_ == 0 ? 0 : kWordBytes;
    }
    std::memset(words.data() + at, 0, words.size() - at);
}

std::uint64_t WordPass::term(std::uint64_t word) {
    return element(word);
}

std::uint64_t WordPass::next(std::uint64_t word) {
    switch (layout_) {
        case WordLayout::kTerms:
            return element(word);
        case WordLayout::kStack:
            return stack_word(word);
        case WordLayout::kBlank:
            return 0;
        case WordLayout::kCollected:
            if (moved_ == nullptr || address_ == 0) {
                return 0;
            }
            break;
        case WordLayout::kRow:
        case WordLayout::kObjects:
            break;
    }
    if (place_.kind != BoxedKind::kUnknown) {
        ++place_.at;
        const auto result = inside(word);
        if (place_.words != 0 && place_.at + 1 >= place_.words) {
            end_object();
        }
        return result;
    }
    if (layout_ == WordLayout::kRow && (!row_begun_ || compressed_)) {
        return inside_row(word);
    }
    const auto kind = word_kind(scheme_, word);
    if (kind == WordKind::kBoxed && layout_ == WordLayout::kCollected &&
        moved_->is_target(pointer_of(word))) {
        return begin_moved(word) ? word : 0;
    }
    return kind == WordKind::kHeader ? begin_object(word) : term_at(word, Where::kCell);
}

/// An object whose header was replaced by a pointer to its copy; its other words are as they were.
bool WordPass::begin_moved(std::uint64_t pointer) {
    const auto header = moved_->header(address_, pointer_of(pointer));
    if (!header) {
        layout_ = WordLayout::kBlank;
        ++blanked_;
        return false;
    }
    begin_object(*header);
    return true;
}

/// The row's tuple, or what follows it in a compressed row: its size in bytes, then bytes.
std::uint64_t WordPass::inside_row(std::uint64_t word) {
    if (compressed_) {
        const bool is_size = !size_passed_;
        size_passed_ = true;
        return is_size ? raw(word) : kTextWord;
    }
    row_begun_ = true;
    const bool is_tuple = boxed_kind(scheme_, word) == BoxedKind::kTuple && word <= kMaxHeader;
    // All elements of a compressed row may be immediate: one word, its size, follows.
    compressed_ = is_tuple && header_arity(word) + 2 == total_;
    return is_tuple ? begin_object(word) : blank(kNoObject);
}

std::uint64_t WordPass::begin_object(std::uint64_t header) {
    const auto words = header <= kMaxHeader ? words_by_header(scheme_, header) : std::nullopt;
    // The word itself is no longer counted in place_.left.
    if (!words || (*words != 0 && *words - 1 > place_.left)) {
        return blank(kNoObject);
    }
    if (*words == 1) {
        return header;
    }
    place_.kind = boxed_kind(scheme_, header);
    place_.header = header;
    place_.at = 0;
    place_.words = *words;
    return header;
}

/// A word that says the object's size: it has `body_words` after this one, which must be there.
/// `impossible`: a size that no reader accepts.
std::uint64_t WordPass::sized(std::uint64_t word, std::uint64_t body_words,
                              std::uint64_t impossible) {
    if (body_words > place_.left) {
        end_object();
        return blank(impossible);
    }
    place_.words = place_.at + 1 + body_words;
    return word;
}

std::uint64_t WordPass::inside(std::uint64_t word) {
    switch (place_.kind) {
        case BoxedKind::kTuple:
            if (layout_ == WordLayout::kRow && word_kind(scheme_, word) == WordKind::kHeader &&
                word != scheme_.non_value) {
                // An element's offset in a compressed row.
                const bool in_row = word >> 2U <= total_ * kWordBytes;
                compressed_ = true;
                return in_row ? word : blank(kFirstByte);
            }
            return element(word);
        case BoxedKind::kRecord:
        case BoxedKind::kHashMapNode:
            return element(word);
        case BoxedKind::kHashMapHead:
            return place_.at < otp25::kHashHeadItems ? raw(word) : element(word);
        case BoxedKind::kFlatMap:
            if (place_.at != otp25::kFlatMapSize) {
                return element(word);
            }
            return sized(word,
                         word <= otp25::kMaxFlatMapSize ? word + 1
                                                        : std::numeric_limits<std::uint64_t>::max(),
                         otp25::kMaxFlatMapSize + 1);
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            // At any level: the VM also fills unused words with what looks like a big integer, and
            // the old words stay in its place.
            return is_kept(word) ? word : kDigit;
        case BoxedKind::kFloat:
            return level_ == Level::kStructure && !is_kept(word) ? 0 : word;
        case BoxedKind::kHeapBinary:
            if (place_.at == otp25::kBinarySize) {
                const auto most = (place_.words - otp25::kHeapBinaryData) * kWordBytes;
                return word <= (scheme_.heap_binary_in_bits ? most * 8 : most) ? word : blank(0);
            }
            return text(word);
        case BoxedKind::kFun:
            return inside_fun(word);
        case BoxedKind::kSubBinary:
            return place_.at == otp25::kSubOriginal ? element(word)
                   : place_.at == otp25::kSubBits   ? raw(word & kSubBitsMask)
                                                    : raw(word);
        case BoxedKind::kSubBits:
            return place_.at == otp27::kSubOriginal ? element(word) : raw(word);
        case BoxedKind::kMatchContext:
            return place_.at == otp25::kMatchOriginal ? element(word) : raw(word);
        case BoxedKind::kRefcBinary:
        case BoxedKind::kFunRef:
            return raw(word);
        case BoxedKind::kReference:
        case BoxedKind::kExternalPid:
        case BoxedKind::kExternalPort:
        case BoxedKind::kExternalReference:
            return word;
        case BoxedKind::kUnknown:
            break;
    }
    return blank(scheme_.nil);
}

std::uint64_t WordPass::inside_fun(std::uint64_t word) {
    if (scheme_.fun_in_header) {
        return place_.at < scheme_.fun_environment ? raw(word) : element(word);
    }
    const auto counted = fun_free_word(scheme_);
    if (place_.at == counted) {
        const auto counts = word & kFunCountsMask;
        const auto free = scheme_.fun_counts_apart ? counts : counts >> 8U;
        return sized(counts, scheme_.fun_environment - counted - 1 + free, kFunCountsMask);
    }
    return place_.at < counted ? raw(word) : element(word);
}

/// Return addresses and frame pointers look like headers.
std::uint64_t WordPass::stack_word(std::uint64_t word) {
    if (word_kind(scheme_, word) != WordKind::kHeader) {
        return element(word);
    }
    return word == scheme_.non_value || ranges_->has(word) ? word : blank(0);
}

std::uint64_t WordPass::term_at(std::uint64_t word, Where where) {
    if (word == format::kLackingWord) {
        return word;
    }
    switch (word_kind(scheme_, word)) {
        case WordKind::kList:
        case WordKind::kBoxed: {
            const auto address = pointer_of(word);
            return is_aligned(address) && ranges_->has(address) ? word : blank(scheme_.nil);
        }
        case WordKind::kSmall:
            return small(word, where);
        case WordKind::kPid:
            return identifier(word, scheme_.pid_bits);
        case WordKind::kPort:
            return identifier(word, scheme_.port_bits);
        case WordKind::kAtom:
        case WordKind::kCatch:
            return table_index(word) < kMaxIndex ? word : blank(scheme_.nil);
        case WordKind::kNil:
            return word == scheme_.nil ? word : blank(scheme_.nil);
        case WordKind::kHeader:
            return word == scheme_.non_value ? word : blank(scheme_.nil);
        case WordKind::kUnknown:
            break;
    }
    return blank(scheme_.nil);
}

/// A word of a binary: what is kept of it, then x.
std::uint64_t WordPass::text(std::uint64_t word) const {
    if (is_kept(word)) {
        return word;
    }
    if (kept_ != nullptr && place_.at + 1 == place_.words) {
        for (auto bytes = kWordBytes; bytes-- > 1;) {
            if (const auto first = first_bytes(word, bytes); is_kept(first)) {
                return first | (kTextWord & ~first_bytes(~std::uint64_t{0}, bytes));
            }
        }
    }
    return kTextWord;
}

std::uint64_t WordPass::small(std::uint64_t word, Where where) const {
    if (is_kept(word)) {
        return word;
    }
    if (level_ == Level::kStructure) {
        return kZero;
    }
    const auto value = small_value(word);
    return where == Where::kCell && value >= 0 && value <= kMaxCharacter ? kLetter : word;
}

std::uint64_t WordPass::identifier(std::uint64_t word, unsigned bits) {
    const auto data = word >> 4U;
    // OTP 25: above the data is the slot in the table (erl_ptab.h, erts_ptab_make_id()).
    const bool valid =
        bits > kMaxIdentifierBits ? data >> kMaxIdentifierBits == 0 : data >> bits <= kMaxSlot;
    return valid ? word : blank(scheme_.nil);
}

/// A size, an offset, or the address of something that is no term.
std::uint64_t WordPass::raw(std::uint64_t word) {
    return word < kMaxSize || ranges_->has(word) ? word : blank(0);
}

std::uint64_t WordPass::blank(std::uint64_t with) {
    ++blanked_;
    return with;
}

}  // namespace beamdump::redact
