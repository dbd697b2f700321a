#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::program {

/// Milliseconds of "10s", "500ms", "2m" or "1h"; nothing for other text, and beyond 24 hours.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text);
/// 90000 ms as "90 s", two hours as "2 h": in the largest unit that divides it.
std::string duration_text(std::chrono::milliseconds time);
/// A check of an option's text for CLI11: empty for such a time; otherwise a sentence.
std::string duration_error(const std::string& text);

}  // namespace beamdump::program
