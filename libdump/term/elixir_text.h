#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace beamdump {

// Names, numbers and characters as Elixir prints them (lib/elixir/lib/inspect.ex, macro.ex and
// code/identifier.ex of Elixir 1.18.3). Names need not be valid UTF-8.

/// An atom: `:ok`, `nil`, `Shop.Cart`, `:"not an identifier"` (Macro.inspect_atom(:literal, ...)).
/// An atom with letters of other scripts than Latin, Greek and Cyrillic is quoted, also where
/// Elixir's tables of Unicode identifiers would not quote it.
std::string elixir_atom(std::string_view name);
/// An atom before a value: `ok:` (Macro.inspect_atom(:key, ...)).
std::string elixir_key(std::string_view name);
/// An atom as a function's name behind a module (Macro.inspect_atom(:remote_call, ...)).
std::string elixir_function(std::string_view name);

/// A name in double quotes, its characters escaped.
std::string elixir_quoted(std::string_view name);

/// Whether an atom is a module's alias: Elixir.Shop.Cart.
bool is_elixir_alias(std::string_view name);
/// `'Elixir.Shop.Cart'` as `Shop.Cart`, `'Elixir.Shop.Cart':init/1` as `Shop.Cart.init/1`; any
/// other text as it is.
std::string elixir_name(const std::string& text);
/// Whether an atom may be the key of a keyword list (Inspect.List.keyword?/1).
bool is_elixir_keyword(std::string_view name);

/// The function that a fun was written in, of the name of the function that the compiler made of
/// it (-init/1-fun-0- becomes `init/1`), and any other name as a function's; behind a full stop.
std::string elixir_fun_parent(std::string_view name);

/// A float, by its shortest digits.
std::string elixir_float(double value);

/// Whether a character prints as it is within a string (String.printable?/1).
bool is_elixir_printable(char32_t character);

/// Escapes the characters of a string or a quoted atom (Code.Identifier.escape/2), in pieces of any
/// size: at most six bytes for each byte.
class ElixirEscaper {
  public:
    /// Appends the text of `bytes`, but for what can only be told with those that follow.
    void add(std::span<const std::uint8_t> bytes, std::string& out);
    /// Ends a string.
    void end(std::string& out);

  private:
    void put_byte(char byte, std::string& out);
    void put_rest(std::string& out);

    std::string rest_;   ///< the beginning of a character
    bool hash_ = false;  ///< # was the last: before { it is escaped
};

/// Whether bytes in pieces are all characters that print as they are.
class ElixirPrintable {
  public:
    /// False as soon as they are not.
    bool add(std::span<const std::uint8_t> bytes);
    /// Whether they end with a character's last byte.
    [[nodiscard]] bool is_whole() const { return rest_.empty(); }

  private:
    std::string rest_;
};

}  // namespace beamdump
