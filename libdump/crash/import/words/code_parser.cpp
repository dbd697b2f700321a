#include <libdump/crash/import/words/code_parser.h>

#include <array>
#include <charconv>

namespace beamdump::crash {
namespace {

bool take(std::string_view& text, std::string_view wanted) {
    if (!text.starts_with(wanted)) {
        return false;
    }
    text.remove_prefix(wanted.size());
    return true;
}

std::optional<std::uint64_t> take_number(std::string_view& text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc()) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// `low` with the upper half that brings it closest to `near`.
std::uint64_t complete(std::uint64_t low, std::uint64_t near) {
    constexpr std::uint64_t kHalf = std::uint64_t{1} << 32U;
    if (low >= kHalf || near < kHalf) {
        return low;
    }
    const auto base = near / kHalf * kHalf + low;
    const auto distance = [near](std::uint64_t at) { return at > near ? at - near : near - at; };
    std::uint64_t best = base;
    for (const auto other : {base - kHalf, base + kHalf}) {
        best = distance(other) < distance(best) ? other : best;
    }
    return best;
}

}  // namespace

std::optional<std::string> parse_atom(std::string_view& text) {
    std::string name;
    if (!text.starts_with('\'')) {
        const auto end = text.find_first_of(":/, ]})");
        name = text.substr(0, end);
        text.remove_prefix(name.size());
        return name.empty() ? std::nullopt : std::optional(name);
    }
    text.remove_prefix(1);
    while (!text.empty() && text.front() != '\'') {
        if (text.front() != '\\') {
            name += text.front();
            text.remove_prefix(1);
            continue;
        }
        // erl_printf_term.c, print_atom_name(): letters for some control characters, octal else.
        constexpr std::string_view kLetters = "ntvbfr\\'";
        constexpr std::string_view kMeant = "\n\t\v\b\f\r\\'";
        text.remove_prefix(1);
        const auto letter = text.empty() ? std::string_view::npos : kLetters.find(text.front());
        if (letter != std::string_view::npos) {
            name += kMeant[letter];
            text.remove_prefix(1);
            continue;
        }
        constexpr int kOctal = 8;
        constexpr std::size_t kDigits = 3;
        unsigned value = 0;
        const auto digits = text.substr(0, kDigits);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, kOctal);
        if (error != std::errc()) {
            return std::nullopt;
        }
        name += static_cast<char>(value);
        text.remove_prefix(static_cast<std::size_t>(end - digits.data()));
    }
    if (text.empty()) {
        return std::nullopt;
    }
    text.remove_prefix(1);
    return name;
}

std::optional<ParsedFunction> parse_function(std::string_view text) {
    ParsedFunction function;
    auto module = parse_atom(text);
    if (!module || !take(text, ":")) {
        return std::nullopt;
    }
    auto name = parse_atom(text);
    constexpr int kDecimal = 10;
    constexpr std::uint64_t kMaxArity = 255;
    const auto arity = name && take(text, "/") ? take_number(text, kDecimal) : std::nullopt;
    if (!arity || *arity > kMaxArity) {
        return std::nullopt;
    }
    function.module = std::move(*module);
    function.function = std::move(*name);
    function.arity = static_cast<std::uint32_t>(*arity);
    function.rest = text;
    return function;
}

std::optional<std::uint64_t> note_code(std::string_view text, std::uint64_t near, Names& names) {
    constexpr int kHexadecimal = 16;
    constexpr int kDecimal = 10;
    take(text, "0x");
    const auto printed = take_number(text, kHexadecimal);
    if (!printed) {
        return std::nullopt;
    }
    const auto address = complete(*printed, near);
    if (!take(text, " (")) {
        return address;
    }
    if (text.starts_with('<')) {
        if (const auto end = text.find('>'); end != std::string_view::npos) {
            names.code_point(text.substr(0, end + 1), address);
        }
        return address;
    }
    const auto function = parse_function(text);
    if (!function) {
        return address;
    }
    auto rest = function->rest;
    const auto offset = take(rest, " + ") ? take_number(rest, kDecimal) : std::nullopt;
    if (offset) {
        names.code({names.atom(function->module), names.atom(function->function), function->arity},
                   address, *offset);
    }
    return address;
}

}  // namespace beamdump::crash
