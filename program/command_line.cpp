#include <libdump/base/decimal.h>
#include <program/command_line.h>

#include <fmt/format.h>

namespace beamdump::program {
namespace {

constexpr std::uint64_t kLongestMs = std::uint64_t{24} * 3'600'000;

}  // namespace

std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
    struct Unit {
        std::string_view name;
        std::uint64_t milliseconds;
    };
    for (const auto& unit :
         {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000}}) {
        if (!text.ends_with(unit.name)) {
            continue;
        }
        const auto count = decimal_number(text.substr(0, text.size() - unit.name.size()));
        if (count) {
            return *count >= 1 && *count <= kLongestMs / unit.milliseconds
                       ? std::optional(std::chrono::milliseconds(*count * unit.milliseconds))
                       : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string duration_error(const std::string& text) {
    return duration_of(text) ? std::string()
                             : fmt::format(
                                   "\"{}\" is not a time of at most 24 hours, such as 10s, "
                                   "500ms or 2m",
                                   text);
}

}  // namespace beamdump::program
