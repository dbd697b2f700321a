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

/// A string built in one go has its cells side by side: its characters stand two words apart.
void scrub_list(std::span<std::byte> bytes, std::string_view value) {
    const std::size_t words = bytes.size() / 8;
    const std::size_t reach = (value.size() - 1) * 2;
    const auto star = small('*');
    for (std::size_t at = 0; at < words; ++at) {
        if (load(bytes, at) != small(value.front())) {
            continue;
        }
        for (const bool ascending : {true, false}) {
            if (ascending ? at + reach >= words : at < reach) {
                continue;
            }
            const auto cell = [&](std::size_t index) {
                return ascending ? at + 2 * index : at - 2 * index;
            };
            std::size_t same = 1;
            while (same < value.size() && load(bytes, cell(same)) == small(value[same])) {
                ++same;
            }
            if (same < value.size()) {
                continue;
            }
            for (std::size_t index = 0; index < value.size(); ++index) {
                std::memcpy(bytes.data() + cell(index) * 8, &star, 8);
            }
            break;
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
            scrub_list(bytes, value);
        }
    }
}

}  // namespace beamdump::capture
