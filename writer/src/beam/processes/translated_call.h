#pragma once

#include "beam/processes/process.h"

#include <optional>

namespace beamdump::beam {

/// What a process was started with in fact, where its structure names proc_lib only: proc_lib keeps
/// it in the process's dictionary under '$initial_call'.
class TranslatedCalls {
  public:
    /// The key's text.
    static constexpr std::string_view kKey = "$initial_call";

    /// `key_atom`: the key's index among the node's atoms; without it nothing is ever found.
    static Result<TranslatedCalls> open(Vm& vm, std::optional<std::uint32_t> key_atom);

    /// {Module, Function, Arity} in the entry of a process that does not change; nothing where
    /// there is no such entry, it holds something else, or the process is sensitive: the node
    /// itself does not tell then. Reads the one slot in which it would be.
    std::optional<records::Mfa> of(const ProcessView& process);

  private:
    TranslatedCalls(Vm& vm, AtomWords atoms) : vm_(&vm), atoms_(atoms) {}
    [[nodiscard]] std::uint64_t slot(std::uint64_t slots) const;
    /// The value, where `word` is {Key, Value} with this key.
    [[nodiscard]] std::optional<std::uint64_t> value_of(std::uint64_t word) const;
    [[nodiscard]] std::optional<records::Mfa> function(std::uint64_t word) const;
    /// The elements of the tuple of so many that `word` is.
    template <std::size_t Arity>
    [[nodiscard]] std::optional<std::array<std::uint64_t, Arity>> tuple(std::uint64_t word) const;

    Vm* vm_;
    AtomWords atoms_;
    std::optional<std::uint32_t> key_;
    std::uint64_t small_tag_ = 0;
};

}  // namespace beamdump::beam
