#pragma once

#include <libdump/term/elixir_text.h>
#include <libdump/term/term_context.h>
#include <libdump/term/term_style.h>
#include <libdump/term/text_buffer.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace beamdump {

/// The marks of a syntax, which both printers of terms use.
struct TermDialect {
    bool elixir = false;
    bool spaced = false;             ///< a space follows each comma
    std::string_view tail = "|";     ///< before the tail of an improper list
    std::string_view map = "#{";     ///< opens a map
    std::string_view pair = "=>";    ///< between key and value
    std::string_view pid = "<";      ///< opens a pid
    std::string_view ref = "#Ref<";  ///< opens a reference
    std::string_view string = "\"";  ///< opens a list of characters
    std::string_view binary = "<<\"";
    std::string_view binary_end = "\">>";
    std::string_view bits = ":";  ///< before the number of the last bits
    std::string_view bits_end = "";
};

inline constexpr TermDialect kErlangDialect = {};
inline constexpr TermDialect kElixirDialect = {.elixir = true,
                                               .spaced = true,
                                               .tail = " | ",
                                               .map = "%{",
                                               .pair = " => ",
                                               .pid = "#PID<",
                                               .ref = "#Reference<",
                                               .string = "~c\"",
                                               .binary = "\"",
                                               .binary_end = "\"",
                                               .bits = "::size(",
                                               .bits_end = ")"};

inline const TermDialect& dialect_of(TermSyntax syntax) {
    return syntax == TermSyntax::kElixir ? kElixirDialect : kErlangDialect;
}

/// The fields of a struct that Elixir does not print among the others.
inline bool is_hidden_field(std::string_view name) {
    return name == "__struct__" || name == "__exception__";
}

/// The Latin-1 characters that a list must be made of to print as a string: no control characters
/// but space, tab, newline and carriage return (erl_printf_term.c, IS_CNTRL, IS_SPACE).
constexpr bool is_string_character(std::uint64_t c) {
    if (c == '\n' || c == '\t' || c == '\r') {
        return true;
    }
    return c >= ' ' && c != 127 && (c < 128 || c >= 160);
}

/// The characters that a list must be made of to print as a charlist in Elixir
/// (List.ascii_printable?/1).
constexpr bool is_charlist_character(std::uint64_t c) {
    return (c >= 7 && c <= 13) || c == 27 || (c >= ' ' && c <= 126);
}

/// The bytes that a binary must be made of to print as a string.
constexpr bool is_printable_byte(std::uint8_t byte) {
    return byte >= ' ' && byte < 127;
}

/// The text of a printer of terms, with what both printers write between terms in a syntax.
class DialectBuffer : public TextBuffer {
  public:
    explicit DialectBuffer(TermSyntax syntax);

    [[nodiscard]] const TermDialect& dialect() const { return *dialect_; }

    /// Drops what is held and begins a term.
    void restart();
    /// Between two parts. `fill`: short ones, many of which go into a line. `spaced`: with a space
    /// in any syntax.
    void separate(bool fill = false, bool spaced = false);
    /// An opening bracket, before parts.
    void open(std::string_view opening);
    /// Before the tail of an improper list.
    void put_tail();
    /// The bits of a bit string behind its whole bytes.
    void put_bits(std::uint64_t value, std::uint64_t count);
    /// Characters of a string in Elixir's syntax, escaped; end_characters() follows the last.
    void put_characters(std::span<const std::uint8_t> characters);
    void end_characters();
    /// A fun as Elixir prints it, up to its module.
    void put_fun_head(std::int64_t index, std::int64_t uniq, std::uint64_t arity);

  private:
    const TermDialect* dialect_;
    ElixirEscaper escaper_;
    std::string escaped_;
};

}  // namespace beamdump
