#pragma once

#include <cstdint>

namespace beamdump {

class RecordNames;

/// The language whose notation terms are printed in.
enum class TermSyntax : std::uint8_t {
    kErlang,  ///< as the VM prints terms (erl_printf_term.c)
    kElixir,  ///< as Elixir's inspect/2 does, all on one line and without limits
};

/// How terms are printed. The default is the VM's own text.
struct TermStyle {
    TermSyntax syntax = TermSyntax::kErlang;
    /// Field names of the tuples that are records; null: they print as tuples. Non-owning.
    const RecordNames* records = nullptr;
};

}  // namespace beamdump
