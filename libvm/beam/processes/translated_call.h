#pragma once

#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/process.h>

#include <array>
#include <optional>

namespace beamdump::beam {

/// Looks up single entries of process dictionaries (erl_process_dict.c), whose keys are atoms.
class DictionaryReader {
  public:
    static Result<DictionaryReader> open(Vm& vm);

    /// The value's word in the dictionary of a process that does not change; nullopt if it has no
    /// such entry, or is sensitive (the node does not show it either). Reads only the key's slot.
    [[nodiscard]] std::optional<std::uint64_t> value(const ProcessView& process,
                                                     std::uint32_t key_atom) const;

    /// The elements, if `word` is a tuple of that size.
    template <std::size_t Arity>
    [[nodiscard]] std::optional<std::array<std::uint64_t, Arity>> tuple(std::uint64_t word) const {
        std::array<std::uint64_t, Arity + 1> words{};
        if (!is_boxed(word) ||
            !vm_->memory().read(boxed_address(word), std::as_writable_bytes(std::span(words))) ||
            words[0] != Arity << kHeaderArityShift) {
            return std::nullopt;
        }
        std::array<std::uint64_t, Arity> elements{};
        std::copy(words.begin() + 1, words.end(), elements.begin());
        return elements;
    }

  private:
    DictionaryReader(Vm& vm, AtomWords atoms) : vm_(&vm), atoms_(atoms) {}
    /// The value, if `word` is {Key, Value} with this key.
    [[nodiscard]] std::optional<std::uint64_t> value_of(std::uint64_t word,
                                                        std::uint32_t key_atom) const;

    Vm* vm_;
    AtomWords atoms_;
};

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
