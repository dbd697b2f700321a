#pragma once

#include <libdump/base/error.h>
#include <manual/usage_error.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace beamdump::program {

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
