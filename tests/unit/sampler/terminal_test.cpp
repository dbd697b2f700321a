#include "screen/terminal.h"

#include <libdump/base/descriptor.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace beamdump::sampler {
namespace {

/// The program's part, on the other end: it draws in every row, and again with another size.
int draw(std::size_t most_rows, std::size_t most_columns, winsize later) {
    auto terminal = Terminal::open();
    if (!terminal) {
        return 2;
    }
    const auto fill = [&] {
        for (std::size_t row = 0; row < (*terminal)->rows(); ++row) {
            (*terminal)->line(row, std::string(3000, 'x'), row == 0);
        }
        (*terminal)->show();
    };
    fill();
    if ((*terminal)->rows() > most_rows || (*terminal)->columns() > most_columns) {
        return 3;
    }
    ::ioctl(STDOUT_FILENO, TIOCSWINSZ, &later);
    if ((*terminal)->key(0).kind != KeyKind::kResized) {
        return 4;
    }
    (*terminal)->clear();
    fill();
    return 0;
}

/// How the drawing ends on a pseudo terminal of a size, which becomes another one meanwhile.
int drawn(winsize size, winsize later) {
    const Descriptor controller(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_EQ(::grantpt(controller.get()), 0);
    EXPECT_EQ(::unlockpt(controller.get()), 0);
    const std::string name = ::ptsname(controller.get());
    const pid_t child = ::fork();
    if (child == 0) {
        const int terminal = ::open(name.c_str(), O_RDWR | O_NOCTTY);
        ::ioctl(terminal, TIOCSWINSZ, &size);
        ::dup2(terminal, STDIN_FILENO);
        ::dup2(terminal, STDOUT_FILENO);
        ::close(terminal);
        ::setenv("TERM", "xterm", 1);
        ::_exit(draw(500, 1000, later));
    }
    int status = 0;
    std::array<char, 65536> shown{};
    // Reads what is drawn until the other end is closed by all, which is the end of the child.
    ssize_t got = 0;
    do {
        got = ::read(controller.get(), shown.data(), shown.size());
    } while (got > 0 || (got < 0 && (errno == EINTR || ::waitpid(child, &status, WNOHANG) == 0)));
    if (::waitpid(child, &status, 0) < 0 && errno != ECHILD) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Terminal, OfAnySizeIsDrawnOn) {
    const winsize usual{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    for (const auto& [rows, columns] : {std::pair<unsigned short, unsigned short>{24, 65535},
                                        {65535, 80},
                                        {65535, 65535},
                                        {0, 0},
                                        {0, 65535},
                                        {1, 1},
                                        {40000, 40000}}) {
        const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        EXPECT_EQ(drawn(size, usual), 0) << rows << " rows, " << columns << " columns";
        EXPECT_EQ(drawn(usual, size), 0) << rows << " rows, " << columns << " columns, later";
    }
}

}  // namespace
}  // namespace beamdump::sampler
