#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace beamdump {

/// Length in bytes of the UTF-8 character at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// Decodes `text`, which must be exactly one character (utf8_length() is its size).
char32_t utf8_character(std::string_view text);

/// Appends a character. Surrogates, which Erlang's lists may hold, are encoded like the others;
/// nothing is checked.
void append_utf8(std::string& text, char32_t character);

/// Whether `text`, which is not empty, is an incomplete UTF-8 character.
bool may_become_utf8(std::string_view text);

/// For text in pieces: `piece` after the `rest` of the one before, which is then empty.
/// `joined`: holds both where there is a rest.
std::string_view after_rest(std::string& rest, std::string_view piece, std::string& joined);

/// Text as UTF-8: invalid bytes are taken as Latin-1.
std::string valid_utf8(std::string_view text);

/// Text in pieces as UTF-8: a character split between pieces is completed by the next piece.
class Utf8Pieces {
  public:
    /// Appends all complete characters.
    void add(std::string_view piece, std::string& out);
    /// End of the text: appends the rest.
    void end(std::string& out);

  private:
    std::string rest_;
};

}  // namespace beamdump
