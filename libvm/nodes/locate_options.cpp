#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/nodes/locate_options.h>

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace beamdump::nodes {
namespace {

Result<beam::Layout> read_layout(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        return fail(ErrorCode::kNotFound, fmt::format("cannot read the layout file {}: {}",
                                                      path.string(), system_error_text(errno)));
    }
    auto layout = beam::Layout::parse(text.str());
    return layout ? layout : wrap(path.string(), layout.error());
}

}  // namespace

Result<beam::LocateOptions> locate_options(const std::optional<std::filesystem::path>& layout,
                                           bool no_symbols,
                                           const std::filesystem::path& debug_folder) {
    beam::LocateOptions how;
    how.no_symbols = no_symbols;
    std::error_code error;
    if (!debug_folder.empty() && !std::filesystem::is_directory(debug_folder, error)) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no folder {} with debug files", debug_folder.string()));
    }
    how.debug_folder = debug_folder;
    if (!layout) {
        return how;
    }
    if (!std::filesystem::is_directory(*layout, error)) {
        ASSIGN_OR_RETURN(auto read, read_layout(*layout));
        how.layout = std::move(read);
        return how;
    }
    for (const auto& entry : std::filesystem::directory_iterator(*layout, error)) {
        const auto name = entry.path().filename().native();
        if (!name.starts_with("otp-") || !name.ends_with(".json")) {
            continue;
        }
        ASSIGN_OR_RETURN(auto read, read_layout(entry.path()));
        how.layouts.push_back(std::move(read));
    }
    if (how.layouts.empty()) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} has no layouts, otp-*.json", layout->string()));
    }
    return how;
}

}  // namespace beamdump::nodes
