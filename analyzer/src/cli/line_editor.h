#pragma once

#include <libdump/base/error.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// What the user has entered at a prompt.
struct EnteredLine {
    enum class Kind : std::uint8_t { kText, kCancelled, kEnd };
    Kind kind = Kind::kEnd;
    std::string text = {};
};

/// Lines from the terminal of standard input and output, with editing, history and completion
/// (libedit). Ctrl-C cancels a line, and is no signal while one is edited. Not thread-safe.
class LineEditor {
  public:
    /// The words that can be where a line ends so far, as whole words; `line` is what is before the
    /// cursor, `word` the part of it that is to be completed.
    using Complete =
        std::function<std::vector<std::string>(std::string_view line, std::string_view word)>;

    /// kIo: the terminal cannot be used.
    static Result<std::unique_ptr<LineEditor>> open(Complete complete);
    virtual ~LineEditor() = default;
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    virtual EnteredLine read(const std::string& prompt) = 0;
    /// Adds a text of one or several lines to the history of this run.
    virtual void remember(const std::string& text) = 0;

  protected:
    LineEditor() = default;
};

}  // namespace beamdump::cli
