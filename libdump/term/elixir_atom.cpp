// Atoms as Elixir prints them.

#include <libdump/base/utf8.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

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

/// Of a letter that is its own compatible form (NFKC); kNone for all others.
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

}  // namespace

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

bool is_elixir_keyword(std::string_view name) {
    return !name.starts_with("Elixir.");
}

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

}  // namespace beamdump
