#pragma once

#include <string>
#include <string_view>

namespace beamdump {

/// Whether a character controls a terminal: C0 and C1 controls, , line separators, and characters
/// that change the direction of text (Unicode's Bidi_Control).
bool is_terminal_control(char32_t character);

/// Text from a dump or a node as one line of a terminal, in UTF-8: terminal controls and bytes that
/// are not UTF-8 are escaped, as \x1B up to U+007F and for bytes, as \u202E beyond.
std::string one_line(std::string_view text);

/// Makes multi-line text in pieces fit for a terminal: line ends and tabs stay, and a character
/// split between pieces is completed by the next piece.
class TerminalText {
  public:
    /// Appends all complete characters.
    void add(std::string_view piece, std::string& out);
    /// End of the text: appends the rest.
    void end(std::string& out);

  private:
    std::string rest_;
};

}  // namespace beamdump
