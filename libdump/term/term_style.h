#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace beamdump {

class RecordNames;

/// Names of types of NIF resources, as module:name, by the address of the type's structure.
using ResourceTypeNames = std::map<std::uint64_t, std::string>;

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
    /// Types that stand behind references to NIF resources: #Ref<0.1.2.3> (zlib:zlib). Null: no
    /// reference has one. Non-owning.
    const ResourceTypeNames* resources = nullptr;
};

}  // namespace beamdump
