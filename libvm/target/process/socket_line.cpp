#include <libdump/base/decimal.h>
#include <libdump/base/hexadecimal.h>
#include <libvm/target/process/socket_line.h>

#include <fmt/format.h>

#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cstring>
#include <netinet/in.h>

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

}  // namespace

std::string_view name_of(SocketTable table) {
    constexpr auto kNames =
        std::to_array<std::string_view>({"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "unix"});
    return kNames[static_cast<std::size_t>(table)];
}

std::optional<SocketLine> parse_socket_line(SocketTable table, std::string_view line) {
    return table == SocketTable::kUnix ? unix_line(line) : internet_line(table, line);
}

}  // namespace beamdump::target
