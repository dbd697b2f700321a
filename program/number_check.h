#pragma once

#include <libdump/base/decimal.h>

#include <fmt/format.h>

#include <string>

namespace beamdump::program {

/// A check of an option's text for CLI11: empty for a whole number from 1 to `most`; otherwise a
/// sentence that it is not `what`.
inline auto number_check(std::uint64_t most, const std::string& what) {
    return [most, what](const std::string& text) {
        const auto value = decimal_number(text);
        return value && *value >= 1 && *value <= most ? std::string()
                                                      : fmt::format("\"{}\" is not {}", text, what);
    };
}

}  // namespace beamdump::program
