#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/sockets.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <unistd.h>

namespace beamdump::target {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

std::unexpected<Error> cannot_list(pid_t pid, int error) {
    if (error == ENOENT || error == ESRCH) {
        return fail(ErrorCode::kTargetDied, fmt::format("process {} has exited", pid));
    }
    return fail(error == EACCES || error == EPERM ? ErrorCode::kPermission : ErrorCode::kIo,
                fmt::format("cannot list the files that process {} has open: {}", pid,
                            system_error_text(error)));
}

/// Of a link's text, socket:[INODE].
std::optional<std::uint64_t> inode_of(std::string_view link) {
    constexpr std::string_view kBefore = "socket:[";
    if (!link.starts_with(kBefore) || !link.ends_with(']')) {
        return std::nullopt;
    }
    link.remove_prefix(kBefore.size());
    link.remove_suffix(1);
    return decimal_number(link);
}

}  // namespace

Result<SocketDescriptors> socket_descriptors(pid_t pid, std::size_t most) {
    const std::unique_ptr<DIR, CloseDirectory> directory(
        ::opendir(fmt::format("/proc/{}/fd", pid).c_str()));
    const int files = directory == nullptr ? -1 : ::dirfd(directory.get());
    if (files < 0) {
        return cannot_list(pid, errno);
    }
    SocketDescriptors found;
    std::array<char, 64> link{};  // longer ones are no sockets
    while (true) {
        errno = 0;
        const auto* const entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        const auto descriptor = decimal_number(entry->d_name);
        if (!descriptor) {
            continue;
        }
        const auto length = ::readlinkat(files, entry->d_name, link.data(), link.size());
        const auto inode =
            length > 0 ? inode_of({link.data(), static_cast<std::size_t>(length)}) : std::nullopt;
        if (!inode) {
            continue;
        }
        if (found.sockets.size() < most) {
            found.sockets.push_back({*inode, static_cast<std::uint32_t>(*descriptor)});
        } else {
            ++found.left_out;
        }
    }
    if (errno != 0) {
        return cannot_list(pid, errno);
    }
    std::ranges::sort(found.sockets);
    return found;
}

Result<void> each_socket_line(
    pid_t pid, const std::function<Result<void>(SocketTable, const SocketLine&)>& found) {
    constexpr auto kTables =
        std::to_array({SocketTable::kTcp, SocketTable::kTcp6, SocketTable::kUdp, SocketTable::kUdp6,
                       SocketTable::kRaw, SocketTable::kRaw6, SocketTable::kUnix});
    for (const auto table : kTables) {
        std::ifstream file(fmt::format("/proc/{}/net/{}", pid, name_of(table)));
        for (std::string line; std::getline(file, line);) {
            if (const auto parsed = parse_socket_line(table, line)) {
                RETURN_IF_ERROR(found(table, *parsed));
            }
        }
        if (file.bad()) {
            return fail(ErrorCode::kIo, fmt::format("cannot read /proc/{}/net/{}: {}", pid,
                                                    name_of(table), system_error_text(errno)));
        }
    }
    return {};
}

}  // namespace beamdump::target
