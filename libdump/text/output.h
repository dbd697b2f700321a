#pragma once

#include <libdump/base/error.h>
#include <libdump/base/terminal_text.h>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump {

/// How a terminal shows a part of a text.
enum class Style : std::uint8_t {
    kTitle,    ///< of a section or of columns
    kFinding,  ///< what deserves a look
    kMissing,  ///< that part of the answer is not there
};

/// The output of an answer's text. Buffered; after the first failure everything further is dropped
/// and ok() is false, which long answers must check.
class Output {
  public:
    Output() = default;
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    virtual ~Output() = default;

    /// Writes text; on a terminal, terminal controls are escaped (TerminalText).
    void write(std::string_view text);
    /// Writes one character: JSON is written by character.
    void write(char character) {
        if (terminal_ != false || error_) {
            write(std::string_view(&character, 1));
            return;
        }
        buffer_.push_back(character);
        if (buffer_.size() >= kBufferBytes) {
            flush();
        }
    }
    /// Writes bytes unescaped, on a terminal too.
    void write_control(std::string_view text);
    /// Writes text in colour or bold, if colours are on.
    void write(Style style, std::string_view text);
    template <typename... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        write(fmt::format(format, std::forward<Arguments>(arguments)...));
    }
    /// Colours on: what is written is then escaped as for a terminal.
    void show_colors();
    /// What follows is an answer to read, which may be shown page by page on a terminal.
    virtual void allow_pager() {}
    /// Flushes the buffer.
    void flush();

    /// Whether the output is a terminal.
    [[nodiscard]] virtual bool is_terminal() const { return false; }
    /// The terminal's width; nullopt for a file or pipe.
    [[nodiscard]] virtual std::optional<std::size_t> columns() const { return std::nullopt; }
    /// Makes tables cut their lines to the terminal's width, if it is one.
    void fit_terminal() { line_width_ = columns(); }
    /// nullopt: lines may have any length.
    [[nodiscard]] std::optional<std::size_t> line_width() const { return line_width_; }
    [[nodiscard]] bool ok() const { return !error_; }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  protected:
    virtual Result<void> put(std::string_view text) = 0;

  private:
    static constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

    void pass_on(std::string_view text);

    std::optional<bool> terminal_;  ///< once known
    bool colors_ = false;
    TerminalText terminal_text_;
    std::string buffer_;
    std::optional<Error> error_;
    std::optional<std::size_t> line_width_;
};

/// Writes all to a descriptor, however long that takes. A closed reader is kClosedPipe, for which
/// the program must ignore SIGPIPE. `name`: of the descriptor, for the error.
Result<void> write_all(int descriptor, std::string_view name, std::string_view text);

/// An open descriptor, non-owning. A closed reader is kClosedPipe, for which the program must
/// ignore SIGPIPE.
class DescriptorOutput final : public Output {
  public:
    DescriptorOutput(int descriptor, std::string name)
        : descriptor_(descriptor), name_(std::move(name)) {}

    [[nodiscard]] bool is_terminal() const override;
    /// 80 if the terminal's width is unknown.
    [[nodiscard]] std::optional<std::size_t> columns() const override;

  protected:
    Result<void> put(std::string_view text) override;

  private:
    int descriptor_;
    std::string name_;
};

}  // namespace beamdump
