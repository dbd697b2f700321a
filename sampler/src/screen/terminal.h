#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::sampler {

/// A key of the keyboard.
enum class KeyKind : std::uint8_t {
    kNone,
    kCharacter,
    kEnter,
    kEscape,
    kErase,
    kUp,
    kDown,
    kQuit,    ///< Ctrl-C
    kResized  ///< the terminal's size has changed
};
struct Key {
    KeyKind kind = KeyKind::kNone;
    char character = 0;  ///< of kCharacter: ASCII
};

/// The terminal as a screen, by ncurses: from here to the destructor, which restores it. Ctrl-Z is
/// not acted upon meanwhile. One at a time: ncurses has one current screen.
class Terminal {
  public:
    /// kUsage: the type of the terminal (TERM) is not known.
    static Result<std::unique_ptr<Terminal>> open();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    /// At most 500 rows and 1,000 columns of the terminal are used.
    [[nodiscard]] std::size_t rows() const;
    [[nodiscard]] std::size_t columns() const;
    void clear();
    /// Writes text that has no terminal controls, cut at the right margin; the rest of the line is
    /// empty. `bright`: in reverse video.
    void line(std::size_t row, std::string_view text, bool bright = false);
    void show();
    /// The next key within `milliseconds`.
    Key key(int milliseconds);

  private:
    struct State;
    explicit Terminal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace beamdump::sampler
