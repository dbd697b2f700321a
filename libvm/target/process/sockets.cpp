#include <libdump/base/decimal.h>
#include <libdump/base/hexadecimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/process/sockets.h>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

/// From 1 on (include/net/tcp_states.h).
constexpr auto kTcpStates = std::to_array<std::string_view>(
    {"ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE",
     "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV"});
constexpr std::uint64_t kTcpClose = 7;
constexpr std::uint64_t kTcpListen = 10;
/// From 1 on (include/uapi/linux/net.h, socket_state).
constexpr auto kUnixStates =
    std::to_array<std::string_view>({"UNCONNECTED", "CONNECTING", "CONNECTED", "DISCONNECTING"});
/// __SO_ACCEPTCON (include/uapi/linux/net.h).
constexpr std::uint64_t kAccepts = 0x10000;

/// The next word, which is taken from `text`; empty at its end.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

template <std::size_t Count>
std::string_view state_of(const std::array<std::string_view, Count>& states, std::uint64_t state) {
    return state == 0 || state > Count ? std::string_view() : states[state - 1];
}

struct Endpoint {
    std::string text;
    bool is_any = false;  ///< no address and no port
};

/// ADDRESS:PORT in hexadecimal digits, the address in 32-bit words of the machine's byte order.
std::optional<Endpoint> endpoint(std::string_view word, bool is_v6) {
    constexpr std::size_t kWordDigits = 8;
    const auto colon = word.find(':');
    const auto digits = word.substr(0, colon);
    std::array<std::uint32_t, 4> address{};
    const std::size_t words = is_v6 ? address.size() : 1;
    if (colon == std::string_view::npos || digits.size() != words * kWordDigits) {
        return std::nullopt;
    }
    for (std::size_t index = 0; index < words; ++index) {
        const auto value = hexadecimal_number(digits.substr(index * kWordDigits, kWordDigits));
        if (!value) {
            return std::nullopt;
        }
        address[index] = static_cast<std::uint32_t>(*value);
    }
    const auto port = hexadecimal_number(word.substr(colon + 1));
    constexpr std::uint64_t kMaxPort = 65535;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (!port || *port > kMaxPort ||
        inet_ntop(is_v6 ? AF_INET6 : AF_INET, address.data(), text.data(), text.size()) ==
            nullptr) {
        return std::nullopt;
    }
    return Endpoint{is_v6 ? fmt::format("[{}]:{}", text.data(), *port)
                          : fmt::format("{}:{}", text.data(), *port),
                    address == std::array<std::uint32_t, 4>{} && *port == 0};
}

/// SL: LOCAL REMOTE STATE SEND:RECEIVE TIMER:WHEN RETRANSMITS UID TIMEOUT INODE ...
std::optional<SocketLine> internet_line(SocketTable table, std::string_view rest) {
    const bool is_v6 =
        table == SocketTable::kTcp6 || table == SocketTable::kUdp6 || table == SocketTable::kRaw6;
    const bool is_tcp = table == SocketTable::kTcp || table == SocketTable::kTcp6;
    if (!take_word(rest).ends_with(':')) {
        return std::nullopt;
    }
    auto local = endpoint(take_word(rest), is_v6);
    auto remote = endpoint(take_word(rest), is_v6);
    const auto state = hexadecimal_number(take_word(rest));
    const auto queues = take_word(rest);
    const auto colon = queues.find(':');
    if (!local || !remote || !state || colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto send = hexadecimal_number(queues.substr(0, colon));
    const auto receive = hexadecimal_number(queues.substr(colon + 1));
    for (int word = 0; word < 4; ++word) {  // timer, retransmits, user, timeout
        take_word(rest);
    }
    const auto inode = decimal_number(take_word(rest));
    if (!send || !receive || !inode) {
        return std::nullopt;
    }
    SocketLine line;
    line.inode = *inode;
    line.local = std::move(local->text);
    if (!remote->is_any) {
        line.remote = std::move(remote->text);
    }
    if (is_tcp) {
        line.state = state_of(kTcpStates, *state);
    } else if (*state == 1 || *state == kTcpClose) {
        line.state = *state == 1 ? "CONNECTED" : "UNCONNECTED";
    }
    if (is_tcp && *state == kTcpListen) {
        // The kernel has the number of such connections in the place of the queue.
        line.waiting = receive;
    } else {
        line.receive_bytes = receive;
        line.send_bytes = send;
    }
    return line;
}

/// NUM: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH
std::optional<SocketLine> unix_line(std::string_view rest) {
    if (!take_word(rest).ends_with(':')) {
        return std::nullopt;
    }
    take_word(rest);
    take_word(rest);
    const auto flags = hexadecimal_number(take_word(rest));
    take_word(rest);
    const auto state = hexadecimal_number(take_word(rest));
    const auto inode = decimal_number(take_word(rest));
    if (!flags || !state || !inode) {
        return std::nullopt;
    }
    SocketLine line;
    line.inode = *inode;
    line.state = (*flags & kAccepts) != 0 ? "LISTEN" : state_of(kUnixStates, *state);
    line.local = rest.substr(std::min<std::size_t>(1, rest.size()));
    return line;
}

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

/// The inode that a link's text, socket:[INODE], has.
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

std::string_view name_of(SocketTable table) {
    constexpr auto kNames =
        std::to_array<std::string_view>({"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "unix"});
    return kNames[static_cast<std::size_t>(table)];
}

std::optional<SocketLine> parse_socket_line(SocketTable table, std::string_view line) {
    return table == SocketTable::kUnix ? unix_line(line) : internet_line(table, line);
}

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
