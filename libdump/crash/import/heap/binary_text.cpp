#include <libdump/crash/import/heap/binary_text.h>
#include <libdump/crash/text/byte_parser.h>

#include <algorithm>
#include <array>

namespace beamdump::crash {
namespace {

// A size of 64 bits in hexadecimal, and a colon.
constexpr std::uint64_t kLongestHead = 17;

}  // namespace

std::optional<std::uint64_t> take_binary_size(TextCursor& text) {
    const auto begin = text.position();
    const auto size = text.take_hex();
    return size && text.take(':') && text.position() - begin <= kLongestHead ? size : std::nullopt;
}

Result<std::optional<BinaryText>> find_binary_text(const TextSource& source, const Span& lines) {
    TextCursor head(source, lines.begin, std::min(lines.begin + kLongestHead, lines.end));
    const auto size = take_binary_size(head);
    if (head.error()) {
        return std::unexpected(*head.error());
    }
    return size ? std::optional(BinaryText{*size, {head.position(), lines.end}}) : std::nullopt;
}

Result<std::uint64_t> bytes_in_text(const TextSource& source, const BinaryText& binary,
                                    bool base64) {
    TextCursor text(source, binary.characters.begin, binary.characters.end);
    ByteParser bytes(text, base64);
    std::array<std::uint8_t, 4096> some{};
    std::uint64_t here = 0;
    while (here < binary.size_bytes) {
        const auto wanted = std::min<std::uint64_t>(some.size(), binary.size_bytes - here);
        const auto got = bytes.read(std::span(some).first(wanted));
        here += got;
        if (got < wanted) {
            break;
        }
    }
    return text.error() ? Result<std::uint64_t>(std::unexpected(*text.error())) : here;
}

}  // namespace beamdump::crash
