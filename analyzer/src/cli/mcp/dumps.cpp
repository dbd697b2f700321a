#include "cli/mcp/dumps.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace beamdump::cli {

namespace {

namespace fs = std::filesystem;

Result<fs::path> resolved(const fs::path& path) {
    std::error_code error;
    auto there = fs::canonical(path, error);
    if (error) {
        return fail(
            error == std::errc::permission_denied ? ErrorCode::kPermission : ErrorCode::kNotFound,
            fmt::format("cannot find {}: {}", path.string(), error.message()));
    }
    return there;
}

bool is_within(const fs::path& path, const fs::path& folder) {
    return std::ranges::mismatch(folder, path).in1 == folder.end();
}

}  // namespace

Result<Dumps> Dumps::make(const std::vector<std::string>& folders) {
    Dumps dumps;
    for (const auto& folder : folders) {
        ASSIGN_OR_RETURN(const auto there, resolved(folder));
        if (std::error_code ignored; !fs::is_directory(there, ignored)) {
            return fail(ErrorCode::kNotFound, fmt::format("--folder {}: it is no folder", folder));
        }
        dumps.folders_.push_back(there.string());
    }
    return dumps;
}

Result<void> Dumps::check_folder(const std::string& folder, const std::string& path) const {
    if (folders_.empty()) {
        return fail(
            ErrorCode::kPermission,
            fmt::format("{} is not allowed: this server was started without --folder", path));
    }
    if (std::ranges::none_of(
            folders_, [&folder](const auto& allowed) { return is_within(folder, allowed); })) {
        return fail(ErrorCode::kPermission, fmt::format("{} is not allowed: it is outside {}", path,
                                                        fmt::join(folders_, " and ")));
    }
    return {};
}

Result<std::string> Dumps::allowed(const std::string& path) const {
    // Before anything is said of a file elsewhere, also whether it is there.
    RETURN_IF_ERROR(check_folder(
        fs::absolute(path.empty() ? fs::path(".") : fs::path(path)).lexically_normal().string(),
        path));
    ASSIGN_OR_RETURN(const auto there, resolved(path));
    RETURN_IF_ERROR(check_folder(there.string(), path));
    if (std::error_code ignored; !fs::is_regular_file(there, ignored)) {
        return fail(ErrorCode::kPermission, fmt::format("{} is no regular file", path));
    }
    return there.string();
}

Result<std::string> Dumps::writable(const std::string& path) const {
    const fs::path file(path);
    if (!file.has_filename() || file.filename() == "." || file.filename() == "..") {
        return fail(ErrorCode::kUsage, fmt::format("\"{}\" does not name a file", path));
    }
    const auto folder = fs::absolute(file).lexically_normal().parent_path();
    RETURN_IF_ERROR(check_folder(folder.string(), path));
    ASSIGN_OR_RETURN(const auto there, resolved(folder));
    RETURN_IF_ERROR(check_folder(there.string(), path));
    return (there / file.filename()).string();
}

Result<void> Dumps::add(const std::string& path) {
    if (std::ranges::find(paths_, path) != paths_.end()) {
        return {};
    }
    if (paths_.size() == kMost) {
        return fail(ErrorCode::kLimit,
                    fmt::format("{} dumps are open, which is the limit: start another server for "
                                "others",
                                kMost));
    }
    paths_.push_back(path);
    return {};
}

Result<std::string> Dumps::find(std::string_view name) const {
    if (std::ranges::find(paths_, name) != paths_.end()) {
        return std::string(name);
    }
    const auto has_name = [name](const auto& path) { return fs::path(path).filename() == name; };
    const auto found = std::ranges::find_if(paths_, has_name);
    if (found != paths_.end() && std::ranges::count_if(paths_, has_name) == 1) {
        return *found;
    }
    if (paths_.empty()) {
        return fail(ErrorCode::kNotFound, folders_.empty()
                                              ? "no dump is open: name one when this server is "
                                                "started"
                                              : "no dump is open: open one with the tool open");
    }
    return fail(ErrorCode::kNotFound,
                fmt::format("no open dump is called \"{}\": {} {}{}", name,
                            paths_.size() == 1 ? "there is" : "there are", fmt::join(paths_, ", "),
                            folders_.empty() ? "" : "; the tool open opens others"));
}

}  // namespace beamdump::cli
