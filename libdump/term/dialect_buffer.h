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

struct TermDialect;

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
