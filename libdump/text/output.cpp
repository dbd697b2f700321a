#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>
#include <libdump/text/output.h>

#include <cerrno>
#include <span>
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
    const int refused =
        beamdump::write_all(descriptor, std::as_bytes(std::span(text))).error_number;
    return refused == 0
               ? Result<void>()
               : fail(refused == EPIPE       ? ErrorCode::kClosedPipe
                      : is_no_space(refused) ? ErrorCode::kNoSpace
                                             : ErrorCode::kIo,
                      fmt::format("cannot write to {}: {}", name, system_error_text(refused)));
}

Result<void> DescriptorOutput::put(std::string_view text) {
    return write_all(descriptor_, name_, text);
}

}  // namespace beamdump
