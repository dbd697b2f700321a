#include <program/streams.h>

#include <iostream>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace beamdump::program {
namespace {

bool ready_for_output(int descriptor) {
    pollfd poll{descriptor, POLLOUT, 0};
    return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

}  // namespace

Streams standard_streams() {
    Streams streams{std::cout, std::cerr};
    streams.out_descriptor = STDOUT_FILENO;
    streams.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    streams.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
    winsize window{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        streams.columns = window.ws_col;
    }
    streams.err_ready = [] { return ready_for_output(STDERR_FILENO); };
    return streams;
}

}  // namespace beamdump::program
