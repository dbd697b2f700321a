#include "dumps/crash_folder.h"

#include <libdump/base/system_error.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beamdump::watch {

std::filesystem::path crash_dump_of(const std::vector<std::string>& environment) {
    constexpr std::string_view kVariable = "ERL_CRASH_DUMP=";
    for (const auto& setting : environment) {
        if (setting.starts_with(kVariable) && setting.size() > kVariable.size()) {
            return setting.substr(kVariable.size());
        }
    }
    return "erl_crash.dump";
}

Result<CrashFolder> CrashFolder::open(pid_t node, const std::filesystem::path& file) {
    const auto begin = std::filesystem::path("/proc") / std::to_string(node);
    return open(file.is_absolute() ? begin / "root" / file.relative_path() : begin / "cwd" / file);
}

Result<CrashFolder> CrashFolder::open(const std::filesystem::path& file) {
    const auto failed = [&file](std::string_view doing) {
        return fail(ErrorCode::kIo, fmt::format("cannot {} the folder of the crash dump {}: {}",
                                                doing, file.string(), system_error_text(errno)));
    };
    CrashFolder folder;
    folder.name_ = file.filename();
    folder.folder_ =
        Descriptor(::open((file.parent_path() / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat facts{};
    if (!folder.folder_.valid() || ::fstat(folder.folder_.get(), &facts) != 0) {
        return failed("open");
    }
    folder.folder_id_ = {facts.st_dev, facts.st_ino};
    folder.events_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!folder.events_.valid() ||
        ::inotify_add_watch(folder.events_.get(),
                            fmt::format("/proc/self/fd/{}", folder.folder_.get()).c_str(),
                            IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        return failed("watch");
    }
    return folder;
}

bool CrashFolder::written() {
    alignas(inotify_event) std::array<char, 16384> events{};
    bool found = false;
    for (auto got = ::read(events_.get(), events.data(), events.size()); got > 0;
         got = ::read(events_.get(), events.data(), events.size())) {
        for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
            inotify_event event{};
            std::memcpy(&event, events.data() + at, sizeof event);
            const char* const name = events.data() + at + sizeof event;
            // Events that were lost may have been this one.
            found = found || (event.mask & IN_Q_OVERFLOW) != 0 ||
                    (event.len > 0 && name_ == std::string_view(name, ::strnlen(name, event.len)));
            at += sizeof event + event.len;
        }
    }
    return found;
}

std::optional<std::uint64_t> CrashFolder::bytes() const {
    struct stat facts{};
    return ::fstatat(folder_.get(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(facts.st_mode)
               ? std::optional(static_cast<std::uint64_t>(facts.st_size))
               : std::nullopt;
}

std::filesystem::path CrashFolder::path() const {
    return std::filesystem::path(fmt::format("/proc/{}/fd/{}", ::getpid(), folder_.get())) / name_;
}

Result<void> CrashFolder::remove() const {
    if (::unlinkat(folder_.get(), name_.c_str(), 0) != 0) {
        return fail(ErrorCode::kIo, fmt::format("cannot remove the crash dump {}: {}", name_,
                                                system_error_text(errno)));
    }
    return {};
}

}  // namespace beamdump::watch
