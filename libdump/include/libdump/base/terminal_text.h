#pragma once

#include <string>
#include <string_view>

namespace beamdump {

/// Whether a character changes what a terminal does or how it shows what is around it: C0 and C1
/// controls, DEL, line separators, and what changes the direction of text (Unicode's
/// Bidi_Control).
bool is_terminal_control(char32_t character);

/// Text from a dump or a node as one line of a terminal, in UTF-8: terminal controls and bytes that
/// are not UTF-8 are escaped, as \x1B up to U+007F and for bytes, as \u202E beyond.
std::string one_line(std::string_view text);

/// The same for text of any number of lines that comes in pieces: line ends and tabs stay, and a
/// character cut at the end of a piece waits for the next one.
class TerminalText {
  public:
    /// Appends what is complete.
    void add(std::string_view piece, std::string& out);
    /// The text has ended: appends what is left.
    void end(std::string& out);

  private:
    std::string rest_;
};

}  // namespace beamdump
