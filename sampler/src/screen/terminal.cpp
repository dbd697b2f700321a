#include "screen/terminal.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <langinfo.h>
#include <ncurses.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace beamdump::sampler {

namespace {

/// More of a terminal stays unused. A terminal may claim any size up to 65,535, of which ncurses
/// takes no more than 32,767, and has several cells of memory for each.
constexpr int kMostTerminalRows = 500;
constexpr int kMostTerminalColumns = 1000;

/// The terminal's size, bounded. Zero: it is not known.
std::pair<int, int> terminal_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        return {};
    }
    return {std::min<int>(size.ws_row, kMostTerminalRows),
            std::min<int>(size.ws_col, kMostTerminalColumns)};
}

}  // namespace

struct Terminal::State {
    SCREEN* screen = nullptr;  // ncurses' own, given back in the destructor
    bool utf8 = false;
    struct sigaction stop{};     // of SIGTSTP, before
    struct sigaction resize{};   // of SIGWINCH, before
    std::pair<int, int> size{};  // as terminal_size() gave it last

    /// Whether the size is another one than before; ncurses has it then.
    bool take_size() {
        const auto now = terminal_size();
        if (now == std::exchange(size, now)) {
            return false;
        }
        const auto [rows, columns] = now;
        ::resizeterm(rows > 0 ? rows : getmaxy(stdscr), columns > 0 ? columns : getmaxx(stdscr));
        return true;
    }
};

Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Terminal>> Terminal::open() {
    auto state = std::make_unique<State>();
    // Without it ncurses counts bytes, not characters.
    std::setlocale(LC_CTYPE, "");
    state->utf8 = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
    struct sigaction ignored{};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGTSTP, &ignored, &state->stop);
    // ncurses would take any size from the terminal, at the start and in a handler of its own.
    ::sigaction(SIGWINCH, &ignored, &state->resize);
    ::use_env(FALSE);
    state->screen = ::newterm(nullptr, stdout, stdin);
    if (state->screen == nullptr) {
        ::sigaction(SIGTSTP, &state->stop, nullptr);
        ::sigaction(SIGWINCH, &state->resize, nullptr);
        return fail(ErrorCode::kUsage,
                    "this terminal's type (TERM) is not known: use --once or --count");
    }
    ::set_escdelay(50);
    ::raw();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::curs_set(0);
    state->take_size();
    return std::unique_ptr<Terminal>(new Terminal(std::move(state)));
}

Terminal::~Terminal() {
    ::endwin();
    ::delscreen(state_->screen);
    ::sigaction(SIGTSTP, &state_->stop, nullptr);
    ::sigaction(SIGWINCH, &state_->resize, nullptr);
}

std::size_t Terminal::rows() const {
    return static_cast<std::size_t>(std::max(getmaxy(stdscr), 1));
}

std::size_t Terminal::columns() const {
    return static_cast<std::size_t>(std::max(getmaxx(stdscr), 1));
}

void Terminal::clear() {
    ::werase(stdscr);
}

void Terminal::line(std::size_t row, std::string_view text, bool bright) {
    if (row >= rows()) {
        return;
    }
    std::string shown(text);
    if (!state_->utf8) {
        std::ranges::replace_if(
            shown, [](char one) { return (static_cast<unsigned char>(one) & 0x80U) != 0; }, '?');
    }
    ::wmove(stdscr, static_cast<int>(row), 0);
    if (bright) {
        ::wattron(stdscr, A_REVERSE);
    }
    // In cells, since wide characters take two; what does not fit would go on in the next line.
    std::wstring wide(shown.size() + 1, L'\0');
    const auto length = std::mbstowcs(wide.data(), shown.c_str(), wide.size());
    wide.resize(length == static_cast<std::size_t>(-1) ? 0 : length);
    std::size_t cells = 0;
    std::size_t fits = 0;
    for (; fits < wide.size(); ++fits) {
        cells += static_cast<std::size_t>(std::max(::wcwidth(wide[fits]), 0));
        if (cells > columns()) {
            break;
        }
    }
    ::waddnwstr(stdscr, wide.data(), static_cast<int>(fits));
    if (bright) {
        ::wattroff(stdscr, A_REVERSE);
    }
}

void Terminal::show() {
    ::wrefresh(stdscr);
}

Key Terminal::key(int milliseconds) {
    if (state_->take_size()) {
        return {KeyKind::kResized};
    }
    ::wtimeout(stdscr, milliseconds);
    const int code = ::wgetch(stdscr);
    constexpr int kControlC = 3;
    constexpr int kEscapeCode = 27;
    constexpr int kDelete = 127;
    switch (code) {
        case ERR:
            return {};
        case KEY_RESIZE:
            return {KeyKind::kResized};
        case KEY_UP:
            return {KeyKind::kUp};
        case KEY_DOWN:
            return {KeyKind::kDown};
        case KEY_ENTER:
        case '\r':
        case '\n':
            return {KeyKind::kEnter};
        case KEY_BACKSPACE:
        case '\b':
        case kDelete:
            return {KeyKind::kErase};
        case kControlC:
            return {KeyKind::kQuit};
        case kEscapeCode:
            return {KeyKind::kEscape};
        default:
            return code >= ' ' && code < kDelete ? Key{KeyKind::kCharacter, static_cast<char>(code)}
                                                 : Key{};
    }
}

}  // namespace beamdump::sampler
