// Terms without parts in external format: numbers, atoms, binaries and identifiers.
#include <libdump/crash/export/terms/external_encoder.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/external_tags.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string>

namespace beamdump::crash {

namespace {

namespace tags = external_tag;

constexpr std::uint64_t kHalf = 0xFFFF'FFFFU;

/// The numbers in "<0.1.2>", "#Port<0.1>", "#Ref<0.1.2.3>", the channel first; nullopt for
/// placeholders.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view text) {
    const auto open = text.find('<');
    if (open == std::string_view::npos || !text.ends_with('>') ||
        (open != 0 && !text.starts_with("#Port<") && !text.starts_with("#Ref<"))) {
        return std::nullopt;
    }
    std::vector<std::uint64_t> numbers;
    const char* at = text.data() + open;
    const char* const end = text.data() + text.size() - 1;
    while (at != end) {
        std::uint64_t& number = numbers.emplace_back();
        const auto done = std::from_chars(at + 1, end, number);
        if (done.ec != std::errc() || (done.ptr != end && *done.ptr != '.')) {
            return std::nullopt;
        }
        at = done.ptr;
    }
    return numbers;
}

}  // namespace

bool ExternalEncoder::identifier(std::uint64_t word, const HeapObject* external) {
    constexpr std::size_t kLongest = 256;
    std::string text;
    printer_.start(word);
    printer_.next(kLongest, text);
    const auto numbers = printer_.done() ? numbers_of(text) : std::nullopt;
    if (!numbers || numbers->size() < 2 || numbers->size() > 7) {
        return false;
    }
    NodeName node = node_.self;
    if (external != nullptr && external->kind != BoxedKind::kReference) {
        std::uint64_t address = 0;
        if (!read(external->address + otp25::kExternalNode * kWordBytes, address)) {
            return false;
        }
        const auto info = reader_.context().node_at(address);
        const auto name = info ? reader_.context().atom(info->name_atom) : std::nullopt;
        if (!name) {
            return false;
        }
        node = {*name, info->creation};
    }
    const std::span own = std::span(*numbers).subspan(1);
    if (text.starts_with("#Ref<")) {
        put(tags::kNewerReference, 1);
        put(own.size(), 2);
    } else {
        put(text.starts_with("#Port<") ? tags::kV4Port : tags::kNewPid, 1);
    }
    atom_text(node.name);
    if (text.starts_with("#Ref<")) {
        // Printed highest first.
        put(node.creation, 4);
        std::for_each(own.rbegin(), own.rend(), [this](std::uint64_t n) { put(n, 4); });
    } else if (text.starts_with("#Port<")) {
        put(own[0], 8);
        put(node.creation, 4);
    } else {
        std::ranges::for_each(own, [this](std::uint64_t n) { put(n & kHalf, 4); });
        put(node.creation, 4);
    }
    return true;
}

bool ExternalEncoder::binary(const HeapObject& object) {
    BinaryContent content;
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
            BinaryContent::Status::kFound ||
        !content.is_whole() || content.whole_bytes() >= kMaxBytes) {
        return false;
    }
    const unsigned bits = content.trailing_bits();
    put(bits == 0 ? tags::kBinary : tags::kBitBinary, 1);
    put(content.whole_bytes() + (bits == 0 ? 0 : 1), 4);
    if (bits != 0) {
        put(bits, 1);
    }
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + content.whole_bytes());
    if (content.octets(reader_, 0, std::span(bytes_).subspan(begin)) != content.whole_bytes()) {
        return false;
    }
    if (bits != 0) {
        put(content.trailing_value(reader_) << (8 - bits), 1);
    }
    return true;
}

bool ExternalEncoder::atom_word(std::uint64_t word) {
    return word_kind(scheme_, word) == WordKind::kAtom && atom(table_index(word));
}

bool ExternalEncoder::atom(std::uint64_t index) {
    const auto& entry = printer_.atoms().at(index);
    if (entry.known) {
        atom_text(entry.name);
    }
    return entry.known;
}

void ExternalEncoder::atom_text(std::string_view name) {
    if (name.size() < 256) {
        put(tags::kSmallAtomUtf8, 1);
        put(name.size(), 1);
    } else {
        put(tags::kAtomUtf8, 1);
        put(name.size(), 2);
    }
    bytes_.insert(bytes_.end(), name.begin(), name.end());
}

void ExternalEncoder::integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
        put(tags::kSmallInteger, 1);
        put(static_cast<std::uint64_t>(value), 1);
    } else if (value >= std::numeric_limits<std::int32_t>::min() &&
               value <= std::numeric_limits<std::int32_t>::max()) {
        put(tags::kInteger, 1);
        put(static_cast<std::uint64_t>(value) & kHalf, 4);
    } else {
        const auto bits = static_cast<std::uint64_t>(value);
        const std::uint64_t magnitude = value < 0 ? ~bits + 1 : bits;
        put(tags::kSmallBig, 1);
        put(8, 1);
        put(value < 0 ? 1 : 0, 1);
        put(std::byteswap(magnitude), 8);
    }
}

bool ExternalEncoder::big(const HeapObject& object) {
    const std::uint64_t bytes = (object.words - 1) * kWordBytes;
    if (bytes >= kMaxBytes) {
        return false;
    }
    if (bytes < 256) {
        put(tags::kSmallBig, 1);
        put(bytes, 1);
    } else {
        put(tags::kLargeBig, 1);
        put(bytes, 4);
    }
    put(object.kind == BoxedKind::kNegativeBig ? 1 : 0, 1);
    for (std::uint64_t i = 1; i < object.words; ++i) {
        std::uint64_t word = 0;
        if (!read(object.address + i * kWordBytes, word)) {
            return false;
        }
        put(std::byteswap(word), 8);
    }
    return true;
}

}  // namespace beamdump::crash
