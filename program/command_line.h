#pragma once

#include <libdump/base/decimal.h>
#include <libdump/base/error.h>
#include <manual/usage_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Milliseconds of "10s", "500ms", "2m" or "1h"; nothing for other text, and beyond 24 hours.
std::optional<std::chrono::milliseconds> duration_of(std::string_view text);
/// 90000 ms as "90 s", two hours as "2 h": in the largest unit that divides it.
std::string duration_text(std::chrono::milliseconds time);
/// A check of an option's text for CLI11: empty for such a time; otherwise a sentence.
std::string duration_error(const std::string& text);

/// Declares --layout, for nodes::locate_options().
void declare_layout(CLI::App& app, std::string& layout);
/// Declares all that nodes::locate_options() takes: --layout, --no-symbols and --debug-dir.
void declare_locating(CLI::App& app, std::string& layout, bool& no_symbols,
                      std::filesystem::path& debug_folder);

/// Parses the arguments (without the program's name) as `app` declares. A text: --help or --version
/// asks for it instead. kUsage.
inline Result<std::optional<std::string>> parse_command_line(
    CLI::App& app, const std::vector<std::string>& arguments) {
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::CallForVersion& version) {
        return fmt::format("{}\n", version.what());
    } catch (const CLI::ParseError& error) {
        return fail(ErrorCode::kUsage, manual::usage_error(app, error));
    }
    return std::nullopt;
}

}  // namespace beamdump::program
