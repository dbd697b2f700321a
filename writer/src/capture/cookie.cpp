#include "capture/cookie.h"

#include <algorithm>
#include <cstring>

namespace beamdump::capture {
namespace {

constexpr std::size_t kShortestScrubbed = 4;
constexpr std::uint64_t kTupleMask = 0x3f;  // erl_term.h: a tuple's header ends in six zero bits
constexpr std::uint64_t kSmallTag = 0xf;
constexpr unsigned kSmallShift = 4;

void scrub_bytes(std::span<std::byte> bytes, std::string_view value) {
    auto rest = bytes;
    while (true) {
        auto* found =
            static_cast<std::byte*>(memmem(rest.data(), rest.size(), value.data(), value.size()));
        if (found == nullptr) {
            return;
        }
        std::fill_n(found, value.size(), std::byte{'*'});
        rest = rest.subspan(static_cast<std::size_t>(found - rest.data()) + value.size());
    }
}

std::uint64_t load(std::span<const std::byte> bytes, std::size_t word) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + word * 8, 8);
    return value;
}

std::uint64_t small(char character) {
    return std::uint64_t{static_cast<unsigned char>(character)} << kSmallShift | kSmallTag;
}

void store_star(std::span<std::byte> bytes, std::size_t word) {
    const auto star = small('*');
    std::memcpy(bytes.data() + word * 8, &star, 8);
}

/// A string built in one go has its cells side by side: its characters stand two words apart.
void scrub_list_at(std::span<std::byte> bytes, std::size_t at, std::string_view value) {
    const std::size_t words = bytes.size() / 8;
    const std::size_t reach = (value.size() - 1) * 2;
    for (const bool ascending : {true, false}) {
        if (ascending ? at + reach >= words : at < reach) {
            continue;
        }
        const auto cell = [&](std::size_t index) {
            return ascending ? at + 2 * index : at - 2 * index;
        };
        std::size_t same = 0;
        while (same < value.size() && load(bytes, cell(same)) == small(value[same])) {
            ++same;
        }
        if (same == value.size()) {
            for (std::size_t index = 0; index < value.size(); ++index) {
                store_star(bytes, cell(index));
            }
            return;
        }
    }
}

/// What a word at the start of the value's bytes looks like: the bits that count, and their values.
struct FirstWord {
    std::uint64_t mask = 0;
    std::uint64_t bits = 0;
    explicit FirstWord(std::string_view value) {
        const auto bytes = std::min<std::size_t>(value.size(), 8);
        std::memset(&mask, 0xff, bytes);
        std::memcpy(&bits, value.data(), bytes);
    }
};

/// Lists, and binaries that begin at a word.
void scrub_words(std::span<std::byte> bytes, std::string_view value) {
    constexpr std::size_t kBlock = 64;
    const FirstWord first(value);
    const auto character = small(value.front());
    const std::size_t words = bytes.size() / 8;
    for (std::size_t begin = 0; begin < words; begin += kBlock) {
        const auto end = std::min(begin + kBlock, words);
        bool any = false;
        for (std::size_t at = begin; at < end; ++at) {
            const auto word = load(bytes, at);
            any |= (word & first.mask) == first.bits || word == character;
        }
        for (std::size_t at = begin; any && at < end; ++at) {
            const auto word = load(bytes, at);
            if (word == character) {
                scrub_list_at(bytes, at, value);
            } else if ((word & first.mask) == first.bits && value.size() <= bytes.size() - at * 8 &&
                       std::memcmp(bytes.data() + at * 8, value.data(), value.size()) == 0) {
                std::fill_n(bytes.data() + at * 8, value.size(), std::byte{'*'});
            }
        }
    }
}

}  // namespace

void Cookies::add(std::string value) {
    if (!value.empty() && value != "nocookie" && !is_cookie(value)) {
        values_.push_back(std::move(value));
    }
}

bool Cookies::is_cookie(std::string_view text) const {
    return std::ranges::find(values_, text) != values_.end();
}

void Cookies::take_arguments(std::vector<std::string>& arguments) {
    bool after = false;
    for (auto& argument : arguments) {
        if (argument == "-setcookie") {
            after = true;
        } else if (argument.starts_with('-') || argument.starts_with('+')) {
            after = false;
        } else if (after && !argument.contains('@')) {
            // -setcookie Cookie, or -setcookie Node Cookie: a node's name has an @.
            add(argument);
            argument = kCookiePlaceholder;
        }
    }
}

void Cookies::take_auth_heap(
    std::span<const std::uint64_t> words, const beam::AtomWords& atoms,
    const std::function<std::optional<std::string>(std::uint32_t)>& atom_text) {
    for (std::size_t at = 0; at + 2 < words.size(); ++at) {
        const auto arity = words[at] >> 6U;
        if ((words[at] & kTupleMask) != 0 || arity < 2 || arity > 8) {
            continue;
        }
        const auto tag = atoms.index(words[at + 1]);
        const auto value = atoms.index(words[at + 2]);
        if (tag && value && atom_text(*tag) == "state") {
            if (auto text = atom_text(*value)) {
                add(*text);
            }
        }
    }
}

void Cookies::scrub(std::span<std::byte> bytes) const {
    for (const auto& value : values_) {
        if (value.size() >= kShortestScrubbed) {
            scrub_bytes(bytes, value);
            scrub_words(bytes, value);
        }
    }
}

void Cookies::scrub_aligned(std::span<std::byte> bytes) const {
    for (const auto& value : values_) {
        if (value.size() >= kShortestScrubbed) {
            scrub_words(bytes, value);
        }
    }
}

}  // namespace beamdump::capture
