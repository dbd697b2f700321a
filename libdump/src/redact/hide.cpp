#include "redact/record_pass.h"

#include <libdump/term/external_tags.h>

#include <algorithm>

namespace beamdump::redact {
namespace {

constexpr std::byte kX{'x'};

/// A length, the highest byte first.
void put_length(std::span<std::byte> bytes, std::size_t length) {
    for (auto at = bytes.size(); at-- > 0; length >>= 8U) {
        bytes[at] = static_cast<std::byte>(length);
    }
}

}  // namespace

void hide(std::span<std::byte> bytes) {
    std::ranges::fill(bytes, kX);
}

void hide_names(std::span<std::byte> sentence) {
    const auto is_space = [](std::byte byte) { return byte == std::byte{' '}; };
    const auto shows_name = [](std::byte byte) {
        return byte == std::byte{'/'} || byte == std::byte{'@'} || byte == std::byte{'"'} ||
               byte >= std::byte{0x80};
    };
    for (auto rest = sentence; !rest.empty();) {
        const auto end = std::ranges::find_if(rest, is_space);
        const auto word = rest.first(static_cast<std::size_t>(end - rest.begin()));
        // An atom, or a section of a crash dump.
        if ((!word.empty() && (word[0] == std::byte{'\''} || word[0] == std::byte{'='})) ||
            std::ranges::any_of(word, shows_name)) {
            hide(word);
        }
        rest = rest.subspan(std::min(word.size() + 1, rest.size()));
    }
}

void hide_external(std::span<std::byte> bytes, bool versioned) {
    if (versioned && !bytes.empty()) {
        bytes[0] = std::byte{kExternalVersion};
        bytes = bytes.subspan(1);
    }
    hide(bytes);
    constexpr std::size_t kBinaryHead = 5;  // a tag and four bytes of length
    constexpr std::size_t kStringHead = 3;  // a tag and two
    if (bytes.size() >= kBinaryHead) {
        bytes[0] = std::byte{external_tag::kBinary};
        put_length(bytes.subspan(1, kBinaryHead - 1), bytes.size() - kBinaryHead);
    } else if (bytes.size() >= kStringHead) {
        bytes[0] = std::byte{external_tag::kString};
        put_length(bytes.subspan(1, kStringHead - 1), bytes.size() - kStringHead);
    } else if (bytes.size() == 2) {
        bytes[0] = std::byte{external_tag::kSmallInteger};
        bytes[1] = std::byte{0};
    } else if (bytes.size() == 1) {
        bytes[0] = std::byte{external_tag::kNil};
    }
}

}  // namespace beamdump::redact
