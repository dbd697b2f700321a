#pragma once

#include <libvm/beam/processes/dictionary_reader.h>

namespace beamdump::beam {

/// The translated initial call of a process started by proc_lib, which is in the process's
/// dictionary under '$initial_call'.
class TranslatedCalls {
  public:
    /// The key.
    static constexpr std::string_view kKey = "$initial_call";

    /// `key_atom`: the key's atom index; nullopt: the node does not have the atom.
    static Result<TranslatedCalls> open(Vm& vm, std::optional<std::uint32_t> key_atom);

    /// {Module, Function, Arity} in the entry of a process that does not change; nullopt if there
    /// is no such entry, it has another value, or the process is sensitive (the node does not show
    /// it either). Reads only the slot of the key.
    [[nodiscard]] std::optional<records::Mfa> of(const ProcessView& process) const;

  private:
    TranslatedCalls(DictionaryReader dictionaries, AtomWords atoms)
        : dictionaries_(dictionaries), atoms_(atoms) {}
    [[nodiscard]] std::optional<records::Mfa> function(std::uint64_t word) const;

    DictionaryReader dictionaries_;
    AtomWords atoms_;
    std::optional<std::uint32_t> key_;
    std::uint64_t small_tag_ = 0;
};

}  // namespace beamdump::beam
