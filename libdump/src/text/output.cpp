#include <libdump/base/system_error.h>
#include <libdump/text/output.h>

#include <cerrno>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace beamdump {

void Output::write(std::string_view text) {
    if (!terminal_) {
        terminal_ = is_terminal();
    }
    if (!*terminal_) {
        write_control(text);
        return;
    }
    std::string shown;
    terminal_text_.add(text, shown);
    write_control(shown);
}

void Output::write_control(std::string_view text) {
    if (error_) {
        return;
    }
    if (buffer_.empty() && text.size() >= kBufferBytes) {
        pass_on(text);
        return;
    }
    buffer_.append(text);
    if (buffer_.size() >= kBufferBytes) {
        flush();
    }
}

void Output::write(Style style, std::string_view text) {
    if (!colors_) {
        write(text);
        return;
    }
    // ECMA-48, SGR: bold, yellow, bold red.
    write_control(style == Style::kTitle     ? "\x1b[1m"
                  : style == Style::kFinding ? "\x1b[33m"
                                             : "\x1b[1;31m");
    write(text);
    write_control("\x1b[0m");
}

void Output::show_colors() {
    colors_ = true;
    terminal_ = true;
}

void Output::flush() {
    if (!error_ && !buffer_.empty()) {
        pass_on(buffer_);
    }
    buffer_.clear();
}

void Output::pass_on(std::string_view text) {
    if (auto done = put(text); !done) {
        error_ = std::move(done.error());
    }
}

bool DescriptorOutput::is_terminal() const {
    return isatty(descriptor_) == 1;
}

std::optional<std::size_t> DescriptorOutput::columns() const {
    constexpr std::size_t kUsualColumns = 80;
    if (!is_terminal()) {
        return std::nullopt;
    }
    winsize size{};
    const bool known = ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return known ? size.ws_col : kUsualColumns;
}

Result<void> write_all(int descriptor, std::string_view name, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd waited{.fd = descriptor, .events = POLLOUT, .revents = 0};
            ::poll(&waited, 1, -1);
        } else if (errno != EINTR) {
            const int number = errno;
            return fail(number == EPIPE    ? ErrorCode::kClosedPipe
                        : number == ENOSPC ? ErrorCode::kNoSpace
                                           : ErrorCode::kIo,
                        fmt::format("cannot write to {}: {}", name, system_error_text(number)));
        }
    }
    return {};
}

Result<void> DescriptorOutput::put(std::string_view text) {
    return write_all(descriptor_, name_, text);
}

}  // namespace beamdump
