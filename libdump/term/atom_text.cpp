#include <libdump/term/atom_text.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace beamdump {

namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

bool is_digit(unsigned c) {
    return c >= '0' && c <= '9';
}
bool is_lower(unsigned c) {
    return (c >= 'a' && c <= 'z') || (c >= 223 && c <= 255 && c != 247);
}
bool is_upper(unsigned c) {
    return (c >= 'A' && c <= 'Z') || (c >= 192 && c <= 222 && c != 215);
}

/// The Latin-1 (or at most 0x7FF) character at byte i; the bytes after a sequence's first count as
/// letters, so that only the first decides; 0 for what needs three or four bytes.
unsigned latin1_at(std::string_view name, std::size_t i) {
    const unsigned c = byte_at(name, i);
    if (c < 0x80) {
        return c;
    }
    if ((c & 0xE0U) == 0xC0U) {
        return (c & 0x1FU) << 6U | (byte_at(name, i + 1) & 0x3FU);
    }
    return (c & 0xC0U) == 0x80U ? 'a' : 0U;
}

bool needs_quotes(std::string_view name) {
    if (name.empty() || !is_lower(latin1_at(name, 0))) {
        return true;
    }
    for (std::size_t i = 1; i < name.size(); ++i) {
        const unsigned c = latin1_at(name, i);
        if (!is_digit(c) && !is_lower(c) && !is_upper(c) && c != '_') {
            return true;
        }
    }
    return false;
}

constexpr std::array<std::pair<char, char>, 8> kEscapes = {{{'\'', '\''},
                                                            {'\\', '\\'},
                                                            {'\n', 'n'},
                                                            {'\f', 'f'},
                                                            {'\t', 't'},
                                                            {'\r', 'r'},
                                                            {'\b', 'b'},
                                                            {'\v', 'v'}}};

/// Appends the character at byte i; returns its length in the name.
std::size_t append_character(std::string& out, std::string_view name, std::size_t i) {
    const unsigned c = byte_at(name, i);
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const auto& pair) { return pair.first == name[i]; });
    if (escape != kEscapes.end()) {
        out.push_back('\\');
        out.push_back(escape->second);
    } else if (c < ' ') {
        fmt::format_to(std::back_inserter(out), "\\{:03o}", c);
    } else if (c == 0xC2U && byte_at(name, i + 1) >= 0x80U && byte_at(name, i + 1) < 0xA0U) {
        fmt::format_to(std::back_inserter(out), "\\{:o}", byte_at(name, i + 1));
        return 2;
    } else {
        out.push_back(name[i]);
    }
    return 1;
}

}  // namespace

std::string quoted_atom(std::string_view name) {
    const bool quotes = needs_quotes(name);
    std::string out;
    out.reserve(name.size() + 2);
    if (quotes) {
        out.push_back('\'');
    }
    for (std::size_t i = 0; i < name.size();) {
        i += append_character(out, name, i);
    }
    if (quotes) {
        out.push_back('\'');
    }
    return out;
}

std::string unquoted_atom(std::string_view text) {
    if (text.size() < 2 || !text.starts_with('\'') || !text.ends_with('\'')) {
        return std::string(text);
    }
    text = text.substr(1, text.size() - 2);
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            name.push_back(text[i]);
            continue;
        }
        unsigned octal = 0;
        std::size_t digits = 0;
        while (digits < 3 && byte_at(text, i + 1 + digits) - '0' < 8U) {
            octal = octal * 8 + (byte_at(text, i + 1 + digits++) - '0');
        }
        const auto* escape =
            std::ranges::find(kEscapes, text[i + 1], &std::pair<char, char>::second);
        if (digits == 3 && octal < 0x100) {
            // From 0x80 on two bytes of UTF-8.
            if (octal >= 0x80) {
                name.push_back('\xC2');
            }
            name.push_back(static_cast<char>(octal));
        } else {
            name.push_back(escape != kEscapes.end() ? escape->first : text[i + 1]);
        }
        i += digits == 3 ? 3 : 1;
    }
    return name;
}

AtomTexts::AtomTexts(TermContext& context, TermSyntax syntax)
    : context_(&context), syntax_(syntax) {}

const AtomTexts::Entry& AtomTexts::at(std::uint64_t index) {
    entries_.resize(kEntries);
    auto& place = entries_[index % kEntries];
    if (!place) {
        place = std::make_unique<Entry>();
    }
    Entry& entry = *place;
    if (entry.index == index) {
        return entry;
    }
    AtomText name;
    if (index <= std::numeric_limits<std::uint32_t>::max()) {
        name = context_->atom(static_cast<std::uint32_t>(index));
    }
    entry.index = index;
    entry.known = name.has_value();
    entry.name_bytes = name ? name->size() : 0;
    entry.quoted = name ? quoted_atom(*name)
                        : fmt::format("<bad atom index: {}>", static_cast<std::int64_t>(index));
    const bool elixir = syntax_ == TermSyntax::kElixir;
    entry.shown = elixir && name ? elixir_atom(*name) : entry.quoted;
    entry.key = elixir && name ? elixir_key(*name) : std::string();
    entry.name = name ? std::move(*name) : entry.quoted;
    return entry;
}

}  // namespace beamdump
