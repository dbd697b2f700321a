#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace beamdump {

/// Length in bytes of the UTF-8 character that `text` begins with; 0 if it begins with none.
std::size_t utf8_length(std::string_view text);

/// The character of `text`, which must be the bytes of one: utf8_length() of it is its size.
char32_t utf8_character(std::string_view text);

/// Whether all of `text`, which is not empty, is the beginning of one character that is cut.
bool may_become_utf8(std::string_view text);

/// For text that comes in pieces: `piece` after the `rest` of the one before, which is then empty.
/// `joined`: holds both where there is a rest.
std::string_view after_rest(std::string& rest, std::string_view piece, std::string& joined);

/// Text as UTF-8: bytes that are part of no character stand for the Latin-1 character of their
/// value.
std::string valid_utf8(std::string_view text);

/// The same for text that comes in pieces: a character cut at the end of a piece waits for the next
/// one.
class Utf8Pieces {
  public:
    /// Appends what is complete.
    void add(std::string_view piece, std::string& out);
    /// The text has ended: appends what is left.
    void end(std::string& out);

  private:
    std::string rest_;
};

}  // namespace beamdump
