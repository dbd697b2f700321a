#include <libvm/target/image/debug_file.h>

#include <fmt/format.h>

#include <vector>

namespace beamdump::target {
namespace {

constexpr std::string_view kDebugFolder = "/usr/lib/debug";
constexpr std::size_t kFolderDigits = 2;  // of a build id, which name its folder

/// By the name that an executable has for its debug file.
std::vector<std::string> named_paths(const ElfImage& image, const std::string& executable) {
    const auto& name = image.debug_link();
    const auto folder = std::filesystem::path(executable).parent_path().native();
    if (name.empty() || name.contains('/') || !folder.starts_with('/')) {
        return {};
    }
    return {fmt::format("{}/{}", folder, name), fmt::format("{}/.debug/{}", folder, name),
            fmt::format("{}{}/{}", kDebugFolder, folder, name)};
}

}  // namespace

std::vector<std::filesystem::path> debug_file_paths(std::string_view build_id,
                                                    const std::filesystem::path& root,
                                                    const std::filesystem::path& folder) {
    if (build_id.size() <= kFolderDigits) {
        return {};
    }
    const auto by_id = fmt::format(".build-id/{}/{}.debug", build_id.substr(0, kFolderDigits),
                                   build_id.substr(kFolderDigits));
    std::vector<std::filesystem::path> paths = {
        fmt::format("{}{}/{}", root.native(), kDebugFolder, by_id)};
    if (!folder.empty()) {
        paths.push_back(folder / by_id);
        paths.push_back(folder / build_id / "debuginfo");
    }
    return paths;
}

std::optional<ElfImage> open_debug_file(const ElfImage& image, const std::string& executable,
                                        const std::filesystem::path& root,
                                        const std::filesystem::path& folder) {
    if (image.build_id().empty()) {
        return std::nullopt;
    }
    auto paths = debug_file_paths(image.build_id(), root, folder);
    for (const auto& path : named_paths(image, executable)) {
        paths.emplace_back(root.native() + path);
    }
    for (const auto& file : paths) {
        // What is at such a path may be anything: only a file is opened.
        std::error_code error;
        if (!std::filesystem::is_regular_file(file, error)) {
            continue;
        }
        auto debug = ElfImage::open(file, 0);
        if (debug && debug->build_id() == image.build_id()) {
            debug->move_by(image.begin() - debug->begin());
            return std::move(*debug);
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::target
