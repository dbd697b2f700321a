#include <libvm/target/image/debug_file.h>

#include <fmt/format.h>

#include <vector>

namespace beamdump::target {
namespace {

constexpr std::string_view kDebugFolder = "/usr/lib/debug";
constexpr std::size_t kFolderDigits = 2;  // of a build id, which name its folder

std::vector<std::string> places(const ElfImage& image, const std::string& executable) {
    std::vector<std::string> paths;
    const auto& id = image.build_id();
    if (auto path = debug_file_path(id); !path.empty()) {
        paths.push_back(std::move(path));
    }
    const auto& name = image.debug_link();
    const auto folder = std::filesystem::path(executable).parent_path().native();
    if (!name.empty() && !name.contains('/') && folder.starts_with('/')) {
        paths.push_back(fmt::format("{}/{}", folder, name));
        paths.push_back(fmt::format("{}/.debug/{}", folder, name));
        paths.push_back(fmt::format("{}{}/{}", kDebugFolder, folder, name));
    }
    return paths;
}

}  // namespace

std::string debug_file_path(std::string_view build_id) {
    return build_id.size() > kFolderDigits
               ? fmt::format("{}/.build-id/{}/{}.debug", kDebugFolder,
                             build_id.substr(0, kFolderDigits), build_id.substr(kFolderDigits))
               : std::string();
}

std::optional<ElfImage> open_debug_file(const ElfImage& image, const std::string& executable,
                                        const std::filesystem::path& root) {
    if (image.build_id().empty()) {
        return std::nullopt;
    }
    for (const auto& path : places(image, executable)) {
        const std::filesystem::path file = root.native() + path;
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
