#include <libdump/term/binary_content.h>

#include <algorithm>
#include <array>
#include <limits>

namespace beamdump {

namespace {

using Status = BinaryContent::Status;

/// Limit of a binary's size: its bits fit a word (erl_binary.h, IS_BINARY_SIZE_OK).
constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::uint64_t>::max() / 8;

Status status_of(WordStatus status) {
    switch (status) {
        case WordStatus::kHere:
            return Status::kFound;
        case WordStatus::kAbsent:
            return Status::kAbsent;
        case WordStatus::kUnmapped:
            break;
    }
    return Status::kMalformed;
}

Status read_all(WordReader& reader, std::uint64_t address, std::span<std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto status = reader.read(address + i * kWordBytes, words[i]);
        if (status != WordStatus::kHere) {
            return status_of(status);
        }
    }
    return Status::kFound;
}

}  // namespace

std::uint64_t BinaryInfo::captured_until(std::uint64_t from) const {
    auto end = std::max(from, captured_bytes);
    for (bool more = true; more;) {
        more = false;
        for (const auto& part : parts) {
            if (part.first_byte <= end && end - part.first_byte < part.bytes) {
                end = part.first_byte + part.bytes;
                more = true;
            }
        }
    }
    return end;
}

std::uint64_t BinaryContent::stored_bytes() const {
    return size_ + (bit_offset_ + bit_size_ + 7) / 8;
}

std::uint64_t BinaryContent::captured_bytes() const {
    if (is_whole()) {
        return size_;
    }
    const std::uint64_t shared = bit_offset_ != 0 ? 1 : 0;
    return std::min(size_, available_ > shared ? available_ - shared : 0);
}

Status BinaryContent::resolve(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                              BinaryContent& content) {
    std::array<std::uint64_t, otp25::kSubWords> words{};
    if (auto status = read_all(reader, address, std::span(words).first(2));
        status != Status::kFound) {
        return status;
    }
    content = BinaryContent{};
    if (scheme.heap_binary_in_bits) {
        return resolve_bits(scheme, reader, address, words[0], content);
    }
    if (boxed_kind(scheme, words[0]) == BoxedKind::kMatchContext) {
        return resolve_rest(scheme, reader, address, content);
    }
    content.size_ = words[otp25::kBinarySize];
    std::uint64_t real = address;
    if (boxed_kind(scheme, words[0]) == BoxedKind::kSubBinary) {
        if (auto status = read_all(reader, address, words); status != Status::kFound) {
            return status;
        }
        real = pointer_of(words[otp25::kSubOriginal]);
        content.first_ = words[otp25::kSubOffset];
        content.bit_size_ = words[otp25::kSubBits] & 0xFFU;
        content.bit_offset_ = (words[otp25::kSubBits] >> 8U) & 0xFFU;
        if (!boxed_words(scheme, words) || content.bit_size_ > 7 || content.bit_offset_ > 7 ||
            word_kind(scheme, words[otp25::kSubOriginal]) != WordKind::kBoxed) {
            return Status::kMalformed;
        }
    }
    return resolve_stored_in(scheme, reader, real, content);
}

/// The rest that a match context has to match.
Status BinaryContent::resolve_rest(const TagScheme& scheme, WordReader& reader,
                                   std::uint64_t address, BinaryContent& content) {
    std::array<std::uint64_t, otp25::kMatchEnd + 1> words{};
    if (auto status = read_all(reader, address, words); status != Status::kFound) {
        return status;
    }
    const std::uint64_t offset = words[otp25::kMatchOffset];
    const std::uint64_t end = words[otp25::kMatchEnd];
    if (!boxed_words(scheme, words) || offset > end ||
        word_kind(scheme, words[otp25::kMatchOriginal]) != WordKind::kBoxed) {
        return Status::kMalformed;
    }
    content.size_ = (end - offset) / 8;
    content.bit_size_ = (end - offset) % 8;
    content.bit_offset_ = offset % 8;
    content.first_ = offset / 8;
    return resolve_stored_in(scheme, reader, pointer_of(words[otp25::kMatchOriginal]), content);
}

/// Content whose size and place are known, in the binary at `real`.
Status BinaryContent::resolve_stored_in(const TagScheme& scheme, WordReader& reader,
                                        std::uint64_t real, BinaryContent& content) {
    if (content.size_ > kMaxBytes || content.first_ > kMaxBytes) {
        return Status::kMalformed;
    }
    std::uint64_t real_size = 0;
    if (auto status = resolve_stored(scheme, reader, real, real_size, content);
        status != Status::kFound) {
        return status;
    }
    const std::uint64_t end = content.first_ + content.stored_bytes();
    if (content.on_heap_ && end > real_size) {
        return Status::kMalformed;
    }
    return content.on_heap_ ? Status::kFound : resolve_refc(scheme, reader, real, content);
}

Status BinaryContent::resolve_stored(const TagScheme& scheme, WordReader& reader,
                                     std::uint64_t address, std::uint64_t& size,
                                     BinaryContent& content) {
    std::array<std::uint64_t, 2> words{};
    if (auto status = read_all(reader, address, words); status != Status::kFound) {
        return status;
    }
    size = words[otp25::kBinarySize];
    const BoxedKind kind = boxed_kind(scheme, words[0]);
    if (!boxed_words(scheme, words)) {
        return Status::kMalformed;
    }
    if (kind == BoxedKind::kHeapBinary) {
        content.on_heap_ = true;
        content.store_ = address + otp25::kHeapBinaryData * kWordBytes;
        content.available_ = content.stored_bytes();
        return Status::kFound;
    }
    content.on_heap_ = false;
    return kind == BoxedKind::kRefcBinary ? Status::kFound : Status::kMalformed;
}

/// The bit strings of OTP 27: complete ones on the heap, and parts of others.
Status BinaryContent::resolve_bits(const TagScheme& scheme, WordReader& reader,
                                   std::uint64_t address, std::uint64_t header,
                                   BinaryContent& content) {
    std::array<std::uint64_t, otp27::kSubWords> words{};
    const bool whole = boxed_kind(scheme, header) == BoxedKind::kHeapBinary;
    const std::size_t count = whole ? 2 : words.size();
    if (auto status = read_all(reader, address, std::span(words).first(count));
        status != Status::kFound) {
        return status;
    }
    if (!boxed_words(scheme, words)) {
        return Status::kMalformed;
    }
    if (whole) {
        content.size_ = words[otp25::kBinarySize] / 8;
        content.bit_size_ = words[otp25::kBinarySize] % 8;
        content.store_ = address + otp25::kHeapBinaryData * kWordBytes;
        content.available_ = content.stored_bytes();
        return Status::kFound;
    }
    const std::uint64_t start = words[otp27::kSubStart];
    const std::uint64_t end = words[otp27::kSubEnd];
    if (boxed_kind(scheme, header) != BoxedKind::kSubBits || start > end || end / 8 > kMaxBytes ||
        word_kind(scheme, words[otp27::kSubOriginal]) != WordKind::kBoxed) {
        return Status::kMalformed;
    }
    content.size_ = (end - start) / 8;
    content.bit_size_ = (end - start) % 8;
    content.bit_offset_ = start % 8;
    content.first_ = start / 8;
    return resolve_original(scheme, reader, words[otp27::kSubOriginal], words[otp27::kSubBase],
                            content);
}

/// The original of a part of a bit string.
Status BinaryContent::resolve_original(const TagScheme& scheme, WordReader& reader,
                                       std::uint64_t word, std::uint64_t base_and_flags,
                                       BinaryContent& content) {
    const std::uint64_t address = pointer_of(word);
    std::array<std::uint64_t, 2> original{};
    if (auto status = read_all(reader, address, original); status != Status::kFound) {
        return status;
    }
    if (!boxed_words(scheme, original)) {
        return Status::kMalformed;
    }
    const std::uint64_t base = base_and_flags & ~otp27::kSubFlags;
    const bool moved = (base_and_flags & otp27::kSubVolatile) != 0;
    if (boxed_kind(scheme, original[0]) == BoxedKind::kRefcBinary) {
        return locate(reader, original[scheme.refc_binary], moved ? 0 : base, content);
    }
    const std::uint64_t data = address + otp25::kHeapBinaryData * kWordBytes;
    const std::uint64_t bytes = (original[otp25::kBinarySize] + 7) / 8;
    // Only parts in converted crash dumps have the flag here: their text has no base.
    const std::uint64_t first_byte = moved ? data : base;
    const std::uint64_t first = first_byte + content.first_;
    if (boxed_kind(scheme, original[0]) != BoxedKind::kHeapBinary || first < data ||
        first - data > bytes || first - data + content.stored_bytes() > bytes) {
        return Status::kMalformed;
    }
    content.store_ = first_byte;
    content.available_ = content.stored_bytes();
    return Status::kFound;
}

Status BinaryContent::resolve_refc(const TagScheme& scheme, WordReader& reader,
                                   std::uint64_t address, BinaryContent& content) {
    std::array<std::uint64_t, otp25::kRefcWords> words{};
    if (auto status = read_all(reader, address, words); status != Status::kFound) {
        return status;
    }
    return locate(reader, words[scheme.refc_binary], words[otp25::kRefcBytes], content);
}

/// In a Binary's bytes: `bytes` is the address that first_ counts from; 0: the first byte's.
Status BinaryContent::locate(WordReader& reader, std::uint64_t binary, std::uint64_t bytes,
                             BinaryContent& content) {
    content.on_heap_ = false;
    content.store_ = binary;
    const auto info = reader.context().binary_at(binary);
    if (!info) {
        content.available_ = 0;
        return Status::kFound;
    }
    if (bytes == 0) {
        bytes = info->data_address;
    }
    // A base is rounded down to make room for its flags: it may lie before the first byte.
    const std::uint64_t first = bytes + content.first_;
    if (first < info->data_address || first - info->data_address > info->size_bytes) {
        return Status::kMalformed;
    }
    content.first_ = first - info->data_address;
    const std::uint64_t end = content.first_ + content.stored_bytes();
    if (end > info->size_bytes) {
        return Status::kMalformed;
    }
    content.as_asked_ = info->as_asked;
    content.available_ = std::min(end, info->captured_until(content.first_)) - content.first_;
    return Status::kFound;
}

std::size_t BinaryContent::stored(WordReader& reader, std::uint64_t from,
                                  std::span<std::uint8_t> into) const {
    if (from >= available_) {
        return 0;
    }
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), available_ - from);
    if (!on_heap_) {
        // The first bytes and a part behind them are given one after the other.
        std::size_t done = 0;
        while (done < wanted) {
            const auto rest = std::as_writable_bytes(into.first(wanted).subspan(done));
            const auto got = reader.context().binary_bytes(store_, first_ + from + done, rest);
            if (!got || *got == 0) {
                break;
            }
            done += *got;
        }
        return done;
    }
    for (std::size_t i = 0; i < wanted;) {
        const std::uint64_t address = store_ + first_ + from + i;
        std::uint64_t word = 0;
        if (reader.read(address - address % kWordBytes, word) != WordStatus::kHere) {
            return i;
        }
        for (std::uint64_t in_word = address % kWordBytes; in_word < kWordBytes && i < wanted;
             ++in_word) {
            into[i++] = static_cast<std::uint8_t>(word >> (8 * in_word));
        }
    }
    return wanted;
}

std::size_t BinaryContent::octets(WordReader& reader, std::uint64_t from,
                                  std::span<std::uint8_t> into) const {
    if (from >= size_) {
        return 0;
    }
    into = into.first(std::min<std::uint64_t>(into.size(), size_ - from));
    if (bit_offset_ == 0) {
        return stored(reader, from, into);
    }
    std::size_t done = 0;
    while (done < into.size()) {
        std::array<std::uint8_t, 257> raw{};
        const std::size_t wanted = std::min(raw.size(), into.size() - done + 1);
        const std::size_t got = stored(reader, from + done, std::span(raw).first(wanted));
        for (std::size_t i = 0; i + 1 < got; ++i) {
            into[done++] = static_cast<std::uint8_t>((raw[i] << bit_offset_) |
                                                     (raw[i + 1] >> (8 - bit_offset_)));
        }
        if (got < wanted) {
            break;
        }
    }
    return done;
}

unsigned BinaryContent::trailing_value(WordReader& reader) const {
    std::array<std::uint8_t, 2> raw{};
    stored(reader, size_, raw);
    const unsigned both = static_cast<unsigned>(raw[0]) << 8U | raw[1];
    return (both >> (16 - bit_offset_ - bit_size_)) & ((1U << bit_size_) - 1);
}

}  // namespace beamdump
