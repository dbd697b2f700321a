#include "capture/secrets/cookie.h"

#include <algorithm>
#include <array>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kTupleMask = 0x3f;  // erl_term.h: a tuple's header ends in six zero bits

/// Variables whose value is a cookie: those of mix releases, RabbitMQ, ejabberd, and their
/// container images.
bool names_cookie(std::string_view name) {
    return name == "RELEASE_COOKIE" || name.ends_with("ERLANG_COOKIE") || name == "ERL_COOKIE";
}

/// Variables that hold arguments for erl: those that erlexec reads, and those of wrapper scripts.
bool names_flags(std::string_view name) {
    return name.starts_with("ERL_") || name.contains("ERL_ARGS") || name.contains("ERL_OPT") ||
           name.ends_with("ERLANG_OPTS");
}

/// An argument in a variable's text: its value, and its source text with quotes.
struct SpelledArgument {
    std::string value;
    std::string_view spelled;
};

/// Splits arguments at blanks outside of quotes, as build_args_from_string() in erlexec.c does.
std::vector<SpelledArgument> split(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\n\r\f\v";
    std::vector<SpelledArgument> arguments;
    while (true) {
        const auto begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) {
            return arguments;
        }
        text.remove_prefix(begin);
        std::string value;
        char quote = 0;
        std::size_t at = 0;
        for (; at < text.size() && (quote != 0 || !kBlanks.contains(text[at])); ++at) {
            const char character = text[at];
            if (quote == 0 && (character == '"' || character == '\'')) {
                quote = character;
            } else if (quote != 0 && character == quote) {
                quote = 0;
            } else if (quote != '\'' && character == '\\' && at + 1 < text.size()) {
                value.push_back(text[++at]);
            } else {
                value.push_back(character);
            }
        }
        arguments.push_back({std::move(value), text.substr(0, at)});
        text.remove_prefix(at);
    }
}

/// The cookies among the values of one -setcookie (init_setcookie/3 in auth.erl): a single value is
/// one; of two values the first is a node name; the node ignores more values, which are probably
/// meant as cookies.
void add_values(std::span<const std::string> values, std::vector<std::string>& cookies) {
    for (std::size_t index = 0; index < values.size(); ++index) {
        const bool node = values.size() == 2 && index == 0 && values[0].contains('@');
        if (!node) {
            cookies.push_back(values[index]);
        }
    }
}

/// Flags of init, and of the emulator, which erl removes from them.
bool is_flag(std::string_view argument) {
    return argument.starts_with('-') || argument.starts_with('+');
}

bool is_setcookie(std::string_view argument) {
    return argument == "-setcookie" || argument == "--setcookie";
}

std::vector<std::string> cookies_in(std::span<const std::string> arguments) {
    std::vector<std::string> cookies;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        if (!is_setcookie(arguments[at])) {
            continue;
        }
        auto end = at + 1;
        while (end < arguments.size() && !is_flag(arguments[end])) {
            ++end;
        }
        add_values(arguments.subspan(at + 1, end - at - 1), cookies);
        at = end - 1;
    }
    return cookies;
}

}  // namespace

void Cookies::add(std::string value) {
    if (value.empty() || value == "nocookie" || values_.contains(value)) {
        return;
    }
    if (ordinary_.contains(value)) {
        any_weak_ = true;
        return;
    }
    any_weak_ |= value.size() < SecretTexts::kShortest;
    texts_.add(value);
    values_.insert(std::move(value));
}

void Cookies::take_arguments(std::span<const std::string> arguments) {
    for (auto& cookie : cookies_in(arguments)) {
        add(std::move(cookie));
    }
}

void Cookies::take_flags(std::string_view flags) {
    const auto arguments = split(flags);
    std::vector<std::string> values;
    for (const auto& argument : arguments) {
        values.push_back(argument.value);
    }
    take_arguments(values);
    // A process may hold the whole variable: os:getenv/0 returns it.
    for (const auto& argument : arguments) {
        if (is_cookie(argument.value)) {
            texts_.add(argument.spelled);
        }
    }
}

void Cookies::take_environment(std::span<const std::string> variables) {
    for (const auto& variable : variables) {
        const std::string_view text(variable);
        const auto end = text.find('=');
        if (end == std::string_view::npos) {
            continue;
        }
        const auto name = text.substr(0, end);
        const auto value = text.substr(end + 1);
        if (names_cookie(name)) {
            add(std::string(value));
        } else if (names_flags(name)) {
            take_flags(value);
        }
    }
}

bool Cookies::take_auth_heap(
    std::span<const std::uint64_t> words, const beam::AtomWords& atoms,
    const std::function<std::optional<std::string>(std::uint32_t)>& atom_text) {
    bool any = false;
    for (std::size_t at = 0; at + 2 < words.size(); ++at) {
        const auto arity = words[at] >> 6U;
        if ((words[at] & kTupleMask) != 0 || arity < 2 || arity > 8) {
            continue;
        }
        const auto tag = atoms.index(words[at + 1]);
        const auto value = atoms.index(words[at + 2]);
        if (!tag || !value || atom_text(*tag) != "state") {
            continue;
        }
        if (auto text = atom_text(*value)) {
            add(std::move(*text));
            any = true;
        }
    }
    return any;
}

std::vector<std::string> Cookies::without_cookies(std::vector<std::string> arguments) const {
    // Values that are too short or too common to be scrubbed elsewhere are scrubbed here.
    const auto given = cookies_in(arguments);
    bool after = false;
    for (auto& argument : arguments) {
        after = is_setcookie(argument) || (after && !is_flag(argument));
        if (is_cookie(argument) || (after && std::ranges::find(given, argument) != given.end())) {
            argument = kCookiePlaceholder;
        } else {
            texts_.scrub(argument);
        }
    }
    return arguments;
}

std::string Cookies::atom_without_cookies(std::string text) const {
    if (is_cookie(text)) {
        return std::string(kCookiePlaceholder);
    }
    texts_.scrub_name(text);
    return text;
}

}  // namespace beamdump::capture
