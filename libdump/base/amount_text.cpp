#include <libdump/base/amount_text.h>

#include <fmt/format.h>

#include <array>

namespace beamdump {

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    constexpr double kStep = 1024;
    // From here on one decimal would round up to the next unit.
    constexpr double kNextUnit = 1023.95;
    if (bytes < 1024) {
        return fmt::format("{} B", bytes);
    }
    double value = static_cast<double>(bytes) / kStep;
    std::size_t unit = 0;
    while (value >= kNextUnit && unit + 1 < kUnits.size()) {
        value /= kStep;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string mebibytes_text(std::uint64_t bytes) {
    constexpr double kMebibyte = 1024.0 * 1024.0;
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebibyte);
}

std::string count_text(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t end = text.size(); end > 3; end -= 3) {
        text.insert(end - 3, 1, ',');
    }
    return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return counted(count, noun, fmt::format("{}s", noun));
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

}  // namespace beamdump
