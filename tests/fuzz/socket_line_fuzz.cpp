// Reads arbitrary bytes as a line of the kernel's tables of sockets (/proc/PID/net): its texts lie
// within bounds.

#include <libvm/target/process/sockets.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    constexpr unsigned kTables = 7;
    const auto table = static_cast<beamdump::target::SocketTable>(data[0] % kTables);
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto line = beamdump::target::parse_socket_line(table, text);
    constexpr std::size_t kLongestEndpoint = 54;
    const bool is_unix = table == beamdump::target::SocketTable::kUnix;
    if (line && (line->local.size() > (is_unix ? text.size() : kLongestEndpoint) ||
                 line->remote.size() > kLongestEndpoint)) {
        std::abort();
    }
    return 0;
}
