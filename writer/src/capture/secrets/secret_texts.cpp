#include "capture/secrets/secret_texts.h"

#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace beamdump::capture {
namespace {

constexpr std::size_t kBlockBytes = 4;  // what a step is looked up by
constexpr std::size_t kHashes = std::size_t{1} << 16U;
/// Texts of at least this many bytes are searched separately, since shorter ones slow down the
/// search.
constexpr std::size_t kLongGroup = 8;
constexpr std::size_t kCellBytes = 16;
constexpr std::uint64_t kSmallIntegerTag = 0xf;  // erl_term.h, all releases
constexpr unsigned kSmallIntegerShift = 4;
constexpr std::uint64_t kLastCharacter = 0x10ffff;
constexpr std::string_view kMark = "****";
static_assert(kMark.size() == SecretTexts::kShortest);

std::uint32_t load_block(const std::byte* at) {
    std::uint32_t block = 0;
    std::memcpy(&block, at, sizeof block);
    return block;
}

std::uint32_t load_block(std::string_view text, std::size_t at) {
    std::uint32_t block = 0;
    std::memcpy(&block, text.data() + at, sizeof block);
    return block;
}

std::uint16_t hash_of(std::uint32_t block) {
    return static_cast<std::uint16_t>((block * 0x9e3779b1U) >> 16U);
}

std::u32string characters_of(std::string_view utf8) {
    std::u32string characters;
    for (std::size_t at = 0; at < utf8.size();) {
        const auto lead = static_cast<unsigned char>(utf8[at]);
        const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
        auto character = static_cast<char32_t>(more == 0 ? lead : lead & (0x3fU >> more));
        for (std::size_t index = 1; index <= more && at + index < utf8.size(); ++index) {
            character = character << 6U | (static_cast<unsigned char>(utf8[at + index]) & 0x3fU);
        }
        characters.push_back(character);
        at += more + 1;
    }
    return characters;
}

/// nullopt if a character is outside of Latin-1.
std::optional<std::string> latin1_of(const std::u32string& characters) {
    std::string text;
    for (const auto character : characters) {
        if (character > 0xff) {
            return std::nullopt;
        }
        text.push_back(static_cast<char>(character));
    }
    return text;
}

std::optional<char32_t> character_of(std::uint64_t word) {
    const auto code = word >> kSmallIntegerShift;
    return (word & kSmallIntegerTag) == kSmallIntegerTag && code <= kLastCharacter
               ? std::optional(static_cast<char32_t>(code))
               : std::nullopt;
}

std::uint64_t word_of(char32_t character) {
    return std::uint64_t{character} << kSmallIntegerShift | kSmallIntegerTag;
}

std::uint64_t start_of(std::span<const char32_t> characters) {
    std::uint64_t start = 0;
    for (std::size_t index = 0; index < SecretTexts::kShortest; ++index) {
        start = start * 0x9e3779b97f4a7c15U + characters[index];
    }
    return start;
}

}  // namespace

/// The cells of a list from one cell on, followed in the direction of `order`.
struct SecretTexts::Cells {
    enum class Order : std::uint8_t { kPointers, kAscending, kDescending };

    std::span<std::byte> bytes;
    memory::Address address = 0;
    Beyond* beyond = nullptr;
    memory::Address first = 0;
    Order order = Order::kPointers;

    [[nodiscard]] bool is_here(memory::Address at) const {
        return at >= address && at + 8 > at && at + 8 <= address + bytes.size();
    }
    [[nodiscard]] std::optional<std::uint64_t> word(memory::Address at) const {
        if (!is_here(at)) {
            return beyond == nullptr || order != Order::kPointers ? std::nullopt : beyond->word(at);
        }
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + (at - address), 8);
        return value;
    }
    [[nodiscard]] std::optional<memory::Address> next(memory::Address cell) const {
        if (order != Order::kPointers) {
            return order == Order::kAscending ? cell + kCellBytes : cell - kCellBytes;
        }
        const auto tail = word(cell + 8);
        return tail && (*tail & beam::kPrimaryMask) == beam::kPrimaryList
                   ? std::optional(beam::boxed_address(*tail))
                   : std::nullopt;
    }
    [[nodiscard]] std::optional<char32_t> character(memory::Address cell) const {
        const auto value = word(cell);
        return value ? character_of(*value) : std::nullopt;
    }
    /// The first characters, at most as many as the array holds; fewer if the list ends before.
    [[nodiscard]] std::size_t read(std::span<char32_t> into) const {
        std::optional<memory::Address> cell = first;
        std::size_t count = 0;
        while (count < into.size() && cell) {
            const auto found = character(*cell);
            if (!found) {
                break;
            }
            into[count++] = *found;
            cell = next(*cell);
        }
        return count;
    }
    [[nodiscard]] bool leads(memory::Address cell, memory::Address to) const {
        const auto tail = word(cell + 8);
        return tail && (*tail & beam::kPrimaryMask) == beam::kPrimaryList &&
               beam::boxed_address(*tail) == to;
    }
    /// Where pointers lead from each cell to the next, the list goes on behind its first kShortest
    /// ones with what followed the text, and so it does behind each of the others.
    void overwrite(std::size_t characters) const {
        std::vector<memory::Address> cells{first};
        while (cells.size() < characters) {
            cells.push_back(*next(cells.back()));
        }
        bool is_list = order == Order::kPointers;
        if (!is_list) {
            // One that lies in memory from its end to its beginning is found from there.
            std::ranges::reverse(cells);
            is_list = std::ranges::adjacent_find(cells, [this](auto cell, auto to) {
                          return !leads(cell, to);
                      }) == cells.end();
        }
        const auto rest = is_list ? word(cells.back() + 8) : std::nullopt;
        for (std::size_t index = 0; index < cells.size(); ++index) {
            put(cells[index], word_of('*'));
            if (rest && index + 1 >= kShortest) {
                put(cells[index] + 8, *rest);
            }
        }
    }
    void put(memory::Address at, std::uint64_t to) const {
        if (is_here(at)) {
            std::memcpy(bytes.data() + (at - address), &to, 8);
        } else if (const auto from = beyond == nullptr ? std::nullopt : beyond->word(at)) {
            beyond->overwrite(at, *from, to);
        }
    }
};

void SecretTexts::add(std::string_view utf8) {
    if (utf8.size() < kShortest) {
        return;
    }
    add_bytes(std::string(utf8));
    auto characters = characters_of(utf8);
    if (auto latin1 = latin1_of(characters); latin1 && *latin1 != utf8) {
        add_bytes(std::move(*latin1));
    }
    const bool possible = std::ranges::all_of(
        characters, [](char32_t character) { return character <= kLastCharacter; });
    if (possible) {
        add_string(characters);
    }
    // A node that does not decode its environment as UTF-8 has one character per byte.
    std::u32string bytes;
    for (const char byte : utf8) {
        bytes.push_back(static_cast<unsigned char>(byte));
    }
    add_string(bytes);
}

void SecretTexts::add_string(const std::u32string& text) {
    // Code that accumulates characters in a list holds them in reverse order for a while.
    add_characters(text);
    add_characters({text.rbegin(), text.rend()});
}

void SecretTexts::add_characters(std::u32string characters) {
    if (characters.size() < kShortest ||
        std::ranges::find(strings_, characters) != strings_.end()) {
        return;
    }
    reach_ = std::max(reach_, characters.size() * kCellBytes);
    longest_string_ = std::max(longest_string_, characters.size());
    first_characters_.resize(kLastCharacter + 1);
    first_characters_[characters.front()] = true;
    string_starts_[start_of(characters)].push_back(static_cast<std::uint32_t>(strings_.size()));
    strings_.push_back(std::move(characters));
}

void SecretTexts::add_bytes(std::string text) {
    if (text.size() < kShortest || std::ranges::find(texts_, text) != texts_.end()) {
        return;
    }
    reach_ = std::max(reach_, text.size() + beam::kHeapBinaryMargin);
    const auto number = static_cast<std::uint32_t>(texts_.size());
    text_starts_[load_block(text, 0)].push_back(number);
    texts_.push_back(std::move(text));
    put_new(texts_.back().size() < kLongGroup ? short_ : long_, number);
}

/// The shift tables of Wu and Manber: the last block of bytes of a window tells how far the window
/// may move without missing a text. A window is as long as the shortest text.
void SecretTexts::put(Group& group, std::uint32_t number) {
    const auto& text = texts_[number];
    const auto last = group.shortest - kBlockBytes;
    for (std::size_t at = 0; at <= last; ++at) {
        auto& step = group.steps[hash_of(load_block(text, at))];
        step = static_cast<std::uint8_t>(std::min<std::size_t>(step, last - at));
    }
    group.ends[hash_of(load_block(text, last))].push_back(number);
}

void SecretTexts::put_new(Group& group, std::uint32_t number) {
    group.texts.push_back(number);
    const auto bytes = texts_[number].size();
    if (group.shortest != 0 && bytes >= group.shortest) {
        put(group, number);
        return;
    }
    group.shortest = bytes;
    const auto longest_step = std::min<std::size_t>(bytes - kBlockBytes + 1, 0xff);
    group.steps.assign(kHashes, static_cast<std::uint8_t>(longest_step));
    group.ends.clear();
    for (const auto known : group.texts) {
        put(group, known);
    }
}

void SecretTexts::scrub_bytes(const Group& group, std::span<std::byte> bytes,
                              const TagScheme* scheme) const {
    if (group.texts.empty() || bytes.size() < group.shortest) {
        return;
    }
    const auto last = group.shortest - kBlockBytes;
    for (std::size_t begin = 0; begin + group.shortest <= bytes.size();) {
        const auto hash = hash_of(load_block(bytes.data() + begin + last));
        if (const auto step = group.steps[hash]; step != 0) {
            begin += step;
            continue;
        }
        std::size_t longest = 0;
        for (const auto number : group.ends.at(hash)) {
            const auto& text = texts_[number];
            if (text.size() > longest && text.size() <= bytes.size() - begin &&
                std::memcmp(bytes.data() + begin, text.data(), text.size()) == 0) {
                longest = text.size();
            }
        }
        if (scheme == nullptr || longest == 0 ||
            !beam::replace_heap_binary(bytes, begin, longest, kMark, *scheme)) {
            std::fill_n(bytes.data() + begin, longest, std::byte{'*'});
        }
        begin += std::max<std::size_t>(longest, 1);
    }
}

bool SecretTexts::scrub_list_at(const Cells& cells) const {
    std::array<char32_t, kShortest> start{};
    if (cells.read(start) < start.size()) {
        return false;
    }
    const auto known = string_starts_.find(start_of(start));
    if (known == string_starts_.end()) {
        return false;
    }
    std::u32string text(longest_string_, U'\0');
    text.resize(cells.read(text));
    const std::u32string* longest = nullptr;
    for (const auto number : known->second) {
        const auto& string = strings_[number];
        if ((longest == nullptr || string.size() > longest->size()) && text.starts_with(string)) {
            longest = &string;
        }
    }
    if (longest != nullptr) {
        cells.overwrite(longest->size());
    }
    return longest != nullptr;
}

void SecretTexts::scrub_lists(std::span<std::byte> bytes, memory::Address address,
                              Beyond* beyond) const {
    constexpr std::size_t kBlockBytes = 512;
    // The tag bits of a small integer that is a character.
    constexpr std::uint64_t kFixedBits = ~(std::uint64_t{0x1fffff} << kSmallIntegerShift);
    const std::size_t size = bytes.size() / 8 * 8;
    const auto word = [&](std::size_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, 8);
        return value;
    };
    Cells cells{bytes, address, beyond};
    for (std::size_t begin = 0; begin < size; begin += kBlockBytes) {
        const auto end = std::min(begin + kBlockBytes, size);
        bool any = false;
        for (std::size_t at = begin; at < end; at += 8) {
            any |= (word(at) & kFixedBits) == kSmallIntegerTag;
        }
        for (std::size_t at = begin; any && at < end; at += 8) {
            const auto character = character_of(word(at));
            if (!character || !first_characters_[*character]) {
                continue;
            }
            cells.first = address + at;
            for (const auto order :
                 {Cells::Order::kPointers, Cells::Order::kAscending, Cells::Order::kDescending}) {
                cells.order = order;
                if (scrub_list_at(cells)) {
                    break;
                }
            }
        }
    }
}

void SecretTexts::scrub(std::span<std::byte> bytes, memory::Address address, Beyond* beyond) const {
    scrub_words(bytes, address, nullptr, beyond);
}

void SecretTexts::scrub_words(std::span<std::byte> bytes, memory::Address address,
                              const TagScheme* scheme, Beyond* beyond) const {
    scrub_bytes(long_, bytes, scheme);
    scrub_bytes(short_, bytes, scheme);
    if (!strings_.empty()) {
        scrub_lists(bytes, address, beyond);
    }
}

void SecretTexts::scrub(std::string& text) const {
    const auto bytes = std::as_writable_bytes(std::span(text));
    scrub_bytes(long_, bytes);
    scrub_bytes(short_, bytes);
}

void SecretTexts::scrub_name(std::string& text) const {
    scrub_bytes(long_, std::as_writable_bytes(std::span(text)));
}

void SecretTexts::scrub_cut_end(std::span<std::byte> bytes) const {
    if (texts_.empty() || bytes.size() < kShortest) {
        return;
    }
    for (auto at = bytes.size() - std::min(bytes.size(), reach_); at + kShortest <= bytes.size();
         ++at) {
        const auto rest = bytes.subspan(at);
        const auto known = text_starts_.find(load_block(rest.data()));
        const bool begins = known != text_starts_.end() &&
                            std::ranges::any_of(known->second, [&](std::uint32_t number) {
                                const auto& text = texts_[number];
                                return text.size() > rest.size() &&
                                       std::memcmp(rest.data(), text.data(), rest.size()) == 0;
                            });
        if (begins) {
            std::ranges::fill(rest, std::byte{'*'});
            return;
        }
    }
}

}  // namespace beamdump::capture
