#pragma once

#include <libdump/term/term_style.h>

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

}  // namespace beamdump
