#pragma once

#include <libdump/format/process_row.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/process.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace beamdump::beam {

/// Looks up single entries of process dictionaries (erl_process_dict.c), whose keys are atoms.
class DictionaryReader {
  public:
    static Result<DictionaryReader> open(Vm& vm);

    /// The value's word in the dictionary of a process that does not change; nullopt if it has no
    /// such entry, or is sensitive (the node does not show it either). Reads only the key's slot.
    [[nodiscard]] std::optional<std::uint64_t> value(const ProcessView& process,
                                                     std::uint32_t key_atom) const;

    /// Whether such a process surely has no entry with this key: its slot was read up to its end.
    /// Nothing in place of a key: the node had no such atom before; only an empty dictionary
    /// surely lacks it. False of a process that is sensitive.
    [[nodiscard]] bool lacks(const ProcessView& process,
                             std::optional<std::uint32_t> key_atom) const;

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
    DictionaryReader(Vm& vm, AtomWords atoms, std::uint64_t nil)
        : vm_(&vm), atoms_(atoms), nil_(nil) {}
    /// What a slot tells of a key.
    struct Found {
        std::optional<std::uint64_t> value = {};
        /// The slot was read up to its end, and each entry of it belongs there.
        bool whole = false;
    };
    [[nodiscard]] Found find(const ProcessView& process, std::uint32_t key_atom) const;

    Vm* vm_;
    AtomWords atoms_;
    std::uint64_t nil_;
};

/// Atoms of keys of dictionaries that tell what a process is; nothing where the node has none.
struct DictionaryKeys {
    static constexpr auto kLabel = kNamingKeys.front();

    std::optional<std::uint32_t> initial_call;                            ///< TranslatedCalls::kKey
    std::array<std::optional<std::uint32_t>, kNamingKeys.size()> naming;  ///< as kNamingKeys

    /// Takes an atom that is one of them.
    void note(std::string_view text, std::uint32_t atom);
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
