#pragma once

#include <libdump/term/term_context.h>
#include <libdump/term/term_style.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// An atom as the VM prints it (erl_printf_term.c, print_atom_name, OTP 25.2.3): quoted unless it
/// starts with a lower-case Latin-1 letter and goes on with Latin-1 letters, digits and _; control
/// characters in octal; everything else as the UTF-8 it is. `name` need not be valid UTF-8.
std::string quoted_atom(std::string_view name);

/// The name of an atom that was printed so; another text is its own name.
std::string unquoted_atom(std::string_view text);

/// Atoms as printed, with a bounded set of recent ones kept.
class AtomTexts {
  public:
    struct Entry {
        std::uint64_t index = ~std::uint64_t{0};
        bool known = false;
        std::size_t name_bytes = 0;  ///< of the name itself, unquoted
        std::string name;
        std::string quoted;  ///< as Erlang prints it
        std::string shown;   ///< in the syntax asked for
        std::string key;     ///< before a value, in Elixir; else empty
    };

    explicit AtomTexts(TermContext& context, TermSyntax syntax = TermSyntax::kErlang);

    /// Valid until the next call. An atom that the dump lacks is not `known` and reads as the VM's
    /// own text for a bad index.
    const Entry& at(std::uint64_t index);

  private:
    static constexpr std::size_t kEntries = 1024;
    TermContext* context_;  ///< non-owning
    TermSyntax syntax_;
    std::vector<std::unique_ptr<Entry>> entries_;  ///< made when they are used
};

}  // namespace beamdump
