#include "render/shared/units.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

namespace beamdump::render {

namespace {

std::uint64_t magnitude(std::int64_t value) {
    return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

char sign(std::int64_t value) {
    return value < 0 ? '-' : '+';
}

}  // namespace

std::string byte_change_text(std::int64_t bytes) {
    return bytes == 0 ? "0 B" : sign(bytes) + bytes_text(magnitude(bytes));
}

std::string count_change_text(std::int64_t count) {
    return count == 0 ? "0" : sign(count) + count_text(magnitude(count));
}

std::string duration_text(std::int64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    if (nanoseconds < 1'000'000) {
        return fmt::format("{:.0f} us", value / 1e3);
    }
    if (nanoseconds < 10'000'000) {
        return fmt::format("{:.1f} ms", value / 1e6);
    }
    if (nanoseconds < 1'000'000'000) {
        return fmt::format("{:.0f} ms", value / 1e6);
    }
    const std::int64_t seconds = nanoseconds / 1'000'000'000;
    if (seconds < 60) {
        return fmt::format("{:.1f} s", value / 1e9);
    }
    if (seconds < 3600) {
        return fmt::format("{} min {} s", seconds / 60, seconds % 60);
    }
    if (seconds < 86400) {
        return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
    }
    return fmt::format("{} d {} h", seconds / 86400, seconds % 86400 / 3600);
}

std::string time_text(std::int64_t microseconds) {
    const auto seconds = static_cast<std::time_t>(microseconds / 1'000'000);
    std::tm parts{};
    if (::gmtime_r(&seconds, &parts) == nullptr) {
        return fmt::format("{} s after 1970", seconds);
    }
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", parts);
}

std::string tenths_text(std::uint64_t tenths) {
    return fmt::format("{}.{}%", tenths / 10, tenths % 10);
}

}  // namespace beamdump::render
