#include <libdump/format/format.h>
#include <libdump/format/process_name.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace beamdump {

namespace {

/// Takes a decimal number of at most 32 bits off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

bool take(std::string_view& text, std::string_view wanted) {
    if (!text.starts_with(wanted)) {
        return false;
    }
    text.remove_prefix(wanted.size());
    return true;
}

bool take_both(std::string_view& text, std::string_view before, std::string_view after) {
    if (text.size() < before.size() + after.size() || !text.starts_with(before) ||
        !text.ends_with(after)) {
        return false;
    }
    text = text.substr(before.size(), text.size() - before.size() - after.size());
    return true;
}

/// `pid(0,123,0)` and `pid("0.123.0")`, as the shells of Erlang and Elixir take them.
std::optional<std::uint64_t> parse_pid_call(std::string_view text) {
    take(text, "c:");
    if (!take_both(text, "pid(", ")")) {
        return std::nullopt;
    }
    if (take_both(text, "\"", "\"")) {
        return parse_pid(text);
    }
    std::string dotted(text);
    std::erase(dotted, ' ');
    std::ranges::replace(dotted, ',', '.');
    return parse_pid(dotted);
}

/// Quoted text without quotes and escaping backslashes.
std::optional<std::string> unquoted(std::string_view text, char quote) {
    const std::string_view mark(&quote, 1);
    if (!take_both(text, mark, mark)) {
        return std::nullopt;
    }
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        i += text[i] == '\\' && i + 1 < text.size() ? 1 : 0;
        plain += text[i];
    }
    return plain;
}

/// An Elixir alias: capitalized parts separated by dots.
bool is_alias(std::string_view text) {
    bool begins = true;
    for (const char c : text) {
        const bool capital = c >= 'A' && c <= 'Z';
        const bool other = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        if (begins ? !capital : !capital && !other && c != '.') {
            return false;
        }
        begins = c == '.';
    }
    return !begins;
}

}  // namespace

std::optional<std::uint64_t> parse_pid(std::string_view text) {
    take_both(text, "<", ">");
    if (!take(text, "0.")) {
        return std::nullopt;
    }
    const auto number = take_number(text);
    if (!number || !take(text, ".")) {
        return std::nullopt;
    }
    const auto serial = take_number(text);
    if (!serial || !text.empty()) {
        return std::nullopt;
    }
    return format::owner_id_of(*number, *serial);
}

ProcessName parse_process_name(std::string_view text) {
    ProcessName name;
    name.owner_id = text.starts_with("#PID<") ? parse_pid(text.substr(4)) : parse_pid(text);
    if (!name.owner_id) {
        name.owner_id = parse_pid_call(text);
    }
    if (name.owner_id) {
        return name;
    }
    name.registered.emplace_back(text);
    if (auto atom = unquoted(text, '\'')) {
        name.registered.push_back(std::move(*atom));
    } else if (text.starts_with(':')) {
        text.remove_prefix(1);
        auto quoted = unquoted(text, '"');
        name.registered.push_back(quoted ? std::move(*quoted) : std::string(text));
    } else if (is_alias(text)) {
        name.registered.push_back("Elixir." + std::string(text));
    }
    return name;
}

}  // namespace beamdump
