#include <libdump/base/utf8.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace beamdump {

namespace {

/// What an atom is to Elixir (Macro.inner_classify/1).
enum class AtomClass : std::uint8_t {
    kAlias,
    kIdentifier,
    kOperator,
    kQuotedOperator,  ///< as an atom it would be ambiguous
    kNotCallable,     ///< no quotes, but as the name of a call
    kOther,
};

constexpr std::string_view kElixir = "Elixir";

// Code.Identifier.unary_op/1 and binary_op/1, without those of the other lists.
constexpr std::array<std::string_view, 58> kOperators = {
    "&",   "!",   "^",   "not", "+",  "-",   "@",   "<-",  "\\\\", "when", "|",
    "=",   "||",  "|||", "or",  "&&", "&&&", "and", "==",  "!=",   "=~",   "===",
    "!==", "<",   "<=",  ">=",  ">",  "|>",  "<<<", ">>>", "<~",   "~>",   "<<~",
    "~>>", "<~>", "in",  "++",  "--", "<>",  "+++", "---", "*",    "/",    "**"};
constexpr std::array<std::string_view, 9> kSpecialForms = {"%",  "%{}", "{}",   "<<>>", "...",
                                                           "..", ".",   "..//", "->"};
constexpr std::array<std::string_view, 4> kQuotedOperators = {"::", "^^^", "~~~", "<|>"};
constexpr std::array<std::string_view, 3> kLiterals = {"nil", "true", "false"};

template <std::size_t Size>
bool is_one_of(const std::array<std::string_view, Size>& names, std::string_view name) {
    return !name.empty() && std::ranges::find(names, name) != names.end();
}

bool is_small_letter(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_word_character(char c) {
    return is_small_letter(c) || is_capital(c) || (c >= '0' && c <= '9') || c == '_';
}

enum class Script : std::uint8_t { kNone, kLatin, kGreek, kCyrillic };

/// The script of a letter that is its own compatible form (NFKC); kNone for all others.
Script script_of(char32_t c) {
    constexpr std::array<char32_t, 9> kNotNormal = {0xD7,  0xF7,  0x132, 0x133, 0x13F,
                                                    0x140, 0x149, 0x17F, 0x3A2};
    if (std::ranges::find(kNotNormal, c) != kNotNormal.end()) {
        return Script::kNone;
    }
    if (c >= 0xC0 && c <= 0x17F) {
        return Script::kLatin;
    }
    if (c >= 0x391 && c <= 0x3C9) {
        return Script::kGreek;
    }
    return c >= 0x400 && c <= 0x45F ? Script::kCyrillic : Script::kNone;
}

/// What the tokenizer of identifiers makes of a name (String.Tokenizer.tokenize/1).
AtomClass tokenized(std::string_view name) {
    if (name.empty()) {
        return AtomClass::kOther;
    }
    bool callable = !is_capital(name[0]);
    Script script = Script::kNone;
    for (std::size_t at = 0; at < name.size();) {
        const char c = name[at];
        if (static_cast<unsigned char>(c) >= 0x80) {
            const std::size_t length = utf8_length(name.substr(at));
            const Script own =
                length == 0 ? Script::kNone : script_of(utf8_character(name.substr(at, length)));
            if (own == Script::kNone || (script != Script::kNone && script != own)) {
                return AtomClass::kOther;
            }
            script = own;
            callable = callable && at != 0;
            at += length;
            continue;
        }
        if (is_small_letter(c) || is_capital(c)) {
            if (script != Script::kNone && script != Script::kLatin) {
                return AtomClass::kOther;
            }
            script = Script::kLatin;
        } else if (at == 0 ? c != '_' : c == '?' || c == '!') {
            return at == 0 || at + 1 != name.size() ? AtomClass::kOther
                   : callable                       ? AtomClass::kIdentifier
                                                    : AtomClass::kNotCallable;
        } else if (c == '@') {
            callable = false;
        } else if (!is_word_character(c)) {
            return AtomClass::kOther;
        }
        ++at;
    }
    return callable ? AtomClass::kIdentifier : AtomClass::kNotCallable;
}

AtomClass classify(std::string_view name) {
    if (is_one_of(kSpecialForms, name)) {
        return AtomClass::kNotCallable;
    }
    if (is_one_of(kQuotedOperators, name)) {
        return AtomClass::kQuotedOperator;
    }
    if (is_one_of(kOperators, name)) {
        return AtomClass::kOperator;
    }
    return is_elixir_alias(name) ? AtomClass::kAlias : tokenized(name);
}

bool needs_elixir_quotes(AtomClass kind) {
    return kind == AtomClass::kOther || kind == AtomClass::kQuotedOperator;
}

/// Up to here a float whose value is whole is printed with all its digits.
constexpr double kWholeFloats = 1.0e16;
/// From here on the VM prints an exponent (2^53, erts/emulator/ryu, OTP 25.2.3).
constexpr double kInexact = 9007199254740992.0;

constexpr unsigned kLastLatin1 = 0xFF;

struct CharacterRange {
    char32_t first = 0;
    char32_t last = 0;
};

/// Characters that look like another or like none, or turn the text around: escaped.
constexpr std::array<CharacterRange, 14> kConfusing = {{{0xA0, 0xA0},
                                                        {0x34F, 0x34F},
                                                        {0x61C, 0x61C},
                                                        {0x2000, 0x200F},
                                                        {0x2028, 0x2029},
                                                        {0x202A, 0x202E},
                                                        {0x205F, 0x2060},
                                                        {0x2061, 0x2064},
                                                        {0x2066, 0x2069},
                                                        {0xFEFF, 0xFEFF},
                                                        {0xFFF9, 0xFFFC}}};

constexpr std::array<std::pair<char, char>, 11> kEscapedCharacters = {{{'\a', 'a'},
                                                                       {'\b', 'b'},
                                                                       {127, 'd'},
                                                                       {27, 'e'},
                                                                       {'\f', 'f'},
                                                                       {'\n', 'n'},
                                                                       {'\r', 'r'},
                                                                       {'\t', 't'},
                                                                       {'\v', 'v'},
                                                                       {'\\', '\\'},
                                                                       {'"', '"'}}};

/// The letter behind the backslash; 0: none.
char escape_of(char byte) {
    for (const auto& [character, letter] : kEscapedCharacters) {
        if (character == byte) {
            return letter;
        }
    }
    return 0;
}

bool is_ascii(char byte) {
    return static_cast<unsigned char>(byte) < 0x80;
}

bool is_confusing(char32_t character) {
    for (const auto& range : kConfusing) {
        if (range.first != 0 && character >= range.first && character <= range.last) {
            return true;
        }
    }
    return false;
}

void put_character(std::string_view bytes, std::string& out) {
    const char32_t character = utf8_character(bytes);
    const auto code = static_cast<std::uint32_t>(character);
    if (is_confusing(character)) {
        fmt::format_to(std::back_inserter(out), "\\u{:04X}", code);
    } else if (is_elixir_printable(character)) {
        out += bytes;
    } else if (code <= kLastLatin1) {
        fmt::format_to(std::back_inserter(out), "\\x{:02X}", code);
    } else {
        fmt::format_to(std::back_inserter(out), "\\x{{{:04X}}}", code);
    }
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::string elixir_atom(std::string_view name) {
    if (is_one_of(kLiterals, name)) {
        return std::string(name);
    }
    const AtomClass kind = classify(name);
    if (kind == AtomClass::kAlias) {
        const bool whole =
            name == kElixir || name == "Elixir.Elixir" || name.starts_with("Elixir.Elixir.");
        return std::string(whole ? name : name.substr(kElixir.size() + 1));
    }
    return ":" + (needs_elixir_quotes(kind) ? elixir_quoted(name) : std::string(name));
}

std::string elixir_key(std::string_view name) {
    const AtomClass kind = classify(name);
    const bool quotes = kind == AtomClass::kAlias || needs_elixir_quotes(kind);
    return (quotes ? elixir_quoted(name) : std::string(name)) + ":";
}

std::string elixir_function(std::string_view name) {
    const AtomClass kind = classify(name);
    const bool plain = kind == AtomClass::kIdentifier || kind == AtomClass::kOperator ||
                       kind == AtomClass::kQuotedOperator;
    return plain ? std::string(name) : elixir_quoted(name);
}

std::string elixir_quoted(std::string_view name) {
    ElixirEscaper escaper;
    std::string text = "\"";
    escaper.add(bytes_of(name), text);
    escaper.end(text);
    text += '"';
    return text;
}

bool is_elixir_alias(std::string_view name) {
    if (!name.starts_with(kElixir)) {
        return false;
    }
    name.remove_prefix(kElixir.size());
    while (!name.empty()) {
        if (name.size() < 2 || name[0] != '.' || !is_capital(name[1])) {
            return false;
        }
        name.remove_prefix(2);
        const auto end = std::ranges::find_if_not(name, is_word_character);
        name.remove_prefix(static_cast<std::size_t>(end - name.begin()));
    }
    return true;
}

std::string elixir_name(const std::string& text) {
    const auto end = text.starts_with('\'') ? text.find('\'', 1) : std::string::npos;
    if (end == std::string::npos) {
        return text;
    }
    const auto module = text.substr(1, end - 1);
    if (!is_elixir_alias(module)) {
        return text;
    }
    if (end + 1 == text.size()) {
        return elixir_atom(module);
    }
    const auto arity = text.rfind('/');
    if (text[end + 1] != ':' || arity == std::string::npos) {
        return text;
    }
    const auto function = unquoted_atom(text.substr(end + 2, arity - end - 2));
    return fmt::format("{}.{}{}", elixir_atom(module), elixir_function(function),
                       text.substr(arity));
}

bool is_elixir_keyword(std::string_view name) {
    return !name.starts_with("Elixir.");
}

std::string elixir_fun_parent(std::string_view name) {
    // -NAME/ARITY-fun-COUNT-, where NAME may have slashes.
    const std::size_t slash = name.rfind('/');
    if (name.starts_with('-') && slash != std::string_view::npos) {
        const std::string_view parent = name.substr(1, slash - 1);
        std::string_view rest = name.substr(slash + 1);
        if (std::ranges::count(rest, '-') == 3 && rest.ends_with('-')) {
            return fmt::format(".{}/{}", elixir_function(parent), rest.substr(0, rest.find('-')));
        }
    }
    return "." + elixir_function(name);
}

std::string elixir_float(double value) {
    const double magnitude = std::fabs(value);
    if (magnitude >= 1.0 && magnitude < kWholeFloats && std::trunc(value) == value) {
        return fmt::format("{}.0", static_cast<std::int64_t>(value));
    }
    std::array<char, 32> buffer{};
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude,
                                       std::chars_format::scientific);
    const std::string_view shortest(buffer.data(), written.ptr);
    const std::size_t mark = shortest.find('e');
    if (mark == std::string_view::npos) {
        return fmt::format("{}", value);  // not a finite number, which no term is
    }
    std::string digits(shortest.substr(0, 1));
    if (mark > 2) {
        digits += shortest.substr(2, mark - 2);
    }
    int exponent = 0;
    const bool negative = shortest[mark + 1] == '-';
    std::from_chars(shortest.data() + mark + 2, shortest.data() + shortest.size(), exponent);
    exponent = negative ? -exponent : exponent;
    const int count = static_cast<int>(digits.size());
    const int place = exponent + 1;  // of the decimal point, among the digits
    const std::string scientific =
        fmt::format("{}.{}e{}", digits[0], count > 1 ? digits.substr(1) : "0", exponent);
    std::string text;
    if (magnitude == 0) {
        text = "0.0";
    } else if (magnitude >= kInexact) {
        text = scientific;
    } else if (place <= 0) {
        text = "0." + std::string(static_cast<std::size_t>(-place), '0') + digits;
    } else if (place >= count) {
        text = digits + std::string(static_cast<std::size_t>(place - count), '0') + ".0";
    } else {
        const auto whole = static_cast<std::size_t>(place);
        text = digits.substr(0, whole) + "." + digits.substr(whole);
    }
    if (text.size() > scientific.size()) {
        text = scientific;
    }
    return std::signbit(value) ? "-" + text : text;
}

bool is_elixir_printable(char32_t character) {
    if (character < 0x80) {
        const auto byte = static_cast<char>(character);
        return (byte >= ' ' && byte < 127) || escape_of(byte) != 0;
    }
    return (character >= 0xA0 && character <= 0xD7FF) ||
           (character >= 0xE000 && character <= 0xFFFD) ||
           (character >= 0x10000 && character <= 0x10FFFF);
}

void ElixirEscaper::add(std::span<const std::uint8_t> bytes, std::string& out) {
    for (const std::uint8_t octet : bytes) {
        const char byte = static_cast<char>(octet);
        if (rest_.empty() && is_ascii(byte)) {
            put_byte(byte, out);
            continue;
        }
        rest_ += byte;
        put_rest(out);
    }
}

void ElixirEscaper::end(std::string& out) {
    for (const char byte : rest_) {
        fmt::format_to(std::back_inserter(out), "\\x{:02X}", static_cast<unsigned char>(byte));
    }
    rest_.clear();
    if (hash_) {
        hash_ = false;
        out += '#';
    }
}

void ElixirEscaper::put_byte(char byte, std::string& out) {
    if (hash_) {
        hash_ = false;
        if (byte == '{') {
            out += "\\#{";
            return;
        }
        out += '#';
    }
    if (byte == '#') {
        hash_ = true;
    } else if (const char letter = escape_of(byte); letter != 0) {
        out += '\\';
        out += letter;
    } else if (byte == 0) {
        out += "\\0";
    } else if (byte < ' ') {
        fmt::format_to(std::back_inserter(out), "\\x{:02X}", static_cast<unsigned char>(byte));
    } else {
        out += byte;
    }
}

/// Takes whole characters, and bytes that begin none, from the rest.
void ElixirEscaper::put_rest(std::string& out) {
    while (!rest_.empty()) {
        if (is_ascii(rest_[0])) {
            put_byte(rest_[0], out);
            rest_.erase(0, 1);
            continue;
        }
        const std::size_t length = utf8_length(rest_);
        if (length == 0 && may_become_utf8(rest_)) {
            return;
        }
        if (hash_) {
            hash_ = false;
            out += '#';
        }
        if (length != 0) {
            put_character(std::string_view(rest_).substr(0, length), out);
        } else {
            fmt::format_to(std::back_inserter(out), "\\x{:02X}",
                           static_cast<unsigned char>(rest_[0]));
        }
        rest_.erase(0, std::max<std::size_t>(length, 1));
    }
}

bool ElixirPrintable::add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t octet : bytes) {
        if (rest_.empty() && octet < 0x80) {
            if (!is_elixir_printable(octet)) {
                return false;
            }
            continue;
        }
        rest_ += static_cast<char>(octet);
        if (const std::size_t length = utf8_length(rest_); length != 0) {
            if (!is_elixir_printable(utf8_character(rest_))) {
                return false;
            }
            rest_.clear();
        } else if (!may_become_utf8(rest_)) {
            return false;
        }
    }
    return true;
}

}  // namespace beamdump
