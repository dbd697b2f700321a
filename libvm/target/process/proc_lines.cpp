#include <libvm/target/process/proc_lines.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace beamdump::target {

std::optional<std::string_view> listed_text(std::string_view text, std::string_view name) {
    constexpr std::string_view kBetween = ": \t";
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.starts_with(name)) {
            continue;
        }
        line.remove_prefix(name.size());
        if (line.empty() || !kBetween.contains(line.front())) {
            continue;
        }
        line.remove_prefix(std::min(line.find_first_not_of(kBetween), line.size()));
        return line;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> listed_number(std::string_view text, std::string_view name) {
    const auto rest = listed_text(text, name);
    std::uint64_t number = 0;
    if (!rest ||
        std::from_chars(rest->data(), rest->data() + rest->size(), number).ec != std::errc()) {
        return std::nullopt;
    }
    return number;
}

std::optional<std::uint64_t> listed_bytes(std::string_view text, std::string_view name) {
    constexpr std::uint64_t kKibibyte = 1024;
    const auto kibibytes = listed_number(text, name);
    return kibibytes ? std::optional(*kibibytes * kKibibyte) : std::nullopt;
}

}  // namespace beamdump::target
