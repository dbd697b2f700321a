#include <libvm/target/process/kept_files.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

Descriptor open_to_read(const std::filesystem::path& file) {
    return Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<std::string> text_from_begin(const Descriptor& file) {
    std::string text;
    std::array<char, 4096> part{};
    while (file.valid()) {
        const auto got =
            ::pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return std::nullopt;
        }
        text.append(part.data(), static_cast<std::size_t>(got));
        if (got == 0) {
            return text;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> read_text(const std::filesystem::path& file) {
    return text_from_begin(open_to_read(file));
}

std::optional<std::string> KeptFiles::read(const std::filesystem::path& file) {
    const auto found = files_.find(file.native());
    if (found != files_.end()) {
        return text_from_begin(found->second);
    }
    ++opened_;
    auto opened = open_to_read(file);
    auto text = text_from_begin(opened);
    if (text) {
        files_.emplace(file.native(), std::move(opened));
    }
    return text;
}

}  // namespace beamdump::target
