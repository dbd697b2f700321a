#include <libdump/base/decimal.h>
#include <program/command_line.h>

#include <fmt/format.h>

#include <array>

namespace beamdump::program {
namespace {

constexpr std::uint64_t kLongestMs = std::uint64_t{24} * 3'600'000;

struct Unit {
    std::string_view name;
    std::string_view text;
    std::uint64_t milliseconds;
};

constexpr std::array kUnits{Unit{"ms", "ms", 1}, Unit{"s", "s", 1000}, Unit{"m", "min", 60'000},
                            Unit{"h", "h", 3'600'000}};

}  // namespace

std::optional<std::chrono::milliseconds> duration_of(std::string_view text) {
    for (const auto& unit : kUnits) {
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

std::string duration_text(std::chrono::milliseconds time) {
    const auto count = static_cast<std::uint64_t>(time.count());
    auto unit = kUnits.back();
    for (auto smaller = kUnits.rbegin(); count % unit.milliseconds != 0; ++smaller) {
        unit = *smaller;
    }
    return fmt::format("{} {}", count / unit.milliseconds, unit.text);
}

std::string duration_error(const std::string& text) {
    return duration_of(text) ? std::string()
                             : fmt::format(
                                   "\"{}\" is not a time of at most 24 hours, such as 10s, "
                                   "500ms or 2m",
                                   text);
}

void declare_layout(CLI::App& app, std::string& layout) {
    app.add_option("--layout", layout,
                   "A layout to use for any release, or a folder of\nlayouts to use instead of the "
                   "built-in ones")
        ->type_name("FILE");
}

void declare_locating(CLI::App& app, std::string& layout, bool& no_symbols,
                      std::filesystem::path& debug_folder) {
    declare_layout(app, layout);
    app.add_flag(
        "--no-symbols", no_symbols,
        "Find the runtime's tables by searching its data,\nas for an executable without symbols");
    app.add_option("--debug-dir", debug_folder,
                   "Look for debug files there too, by build id: .build-id/ab/cd.debug,\nor as "
                   "debuginfod's cache has them (~/.cache/debuginfod_client)")
        ->type_name("DIR");
}

}  // namespace beamdump::program
