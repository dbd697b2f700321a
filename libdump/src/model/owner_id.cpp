#include <libdump/format/format.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

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

bool take(std::string_view& text, char wanted) {
    if (!text.starts_with(wanted)) {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::string pid_text(std::uint64_t owner_id) {
    return fmt::format("<0.{}.{}>", owner_id & 0xFFFFFFFFU, owner_id >> 32U);
}

std::optional<std::uint64_t> parse_pid(std::string_view text) {
    const bool bracketed = take(text, '<');
    if (!take(text, '0') || !take(text, '.')) {
        return std::nullopt;
    }
    const auto number = take_number(text);
    if (!number || !take(text, '.')) {
        return std::nullopt;
    }
    const auto serial = take_number(text);
    if (!serial || (bracketed && !take(text, '>')) || !text.empty()) {
        return std::nullopt;
    }
    return format::owner_id_of(*number, *serial);
}

}  // namespace beamdump
