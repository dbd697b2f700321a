#pragma once

#include <libvm/arch/x86_64/instruction.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump::beam {

/// What a call of compiled code leaves in the x registers.
enum class CallEffect : std::uint8_t {
    kUnknown,
    kResult,    ///< one term in the first (a function, a BIF)
    kKeepsAll,  ///< all, as they were: it neither collects nor writes to them
    kCollects,  ///< as many terms as `ecx` says
    kNoReturn
};

/// Which x registers hold terms at one place of compiled code, as far as the code before it tells:
/// arguments of the function, and words that instructions have written, but none from before a
/// call or collection that may have left them behind. They are the words from `rbx` on
/// (jit/x86/beam_asm.hpp, getXRef(); OTP 25 to 29), and nothing but terms is written there.
class XRegisters {
  public:
    /// Nothing is known.
    XRegisters() : others_(Word::kUnknown) {}
    /// At the beginning of a function.
    static XRegisters arguments(std::uint64_t count);

    /// How many from the first on certainly hold terms.
    [[nodiscard]] std::uint32_t known() const;
    /// Whether no other one can be read by the code that follows.
    [[nodiscard]] bool complete() const;

    /// Where ways meet: only what holds on both. Whether that changes it.
    bool meet(const XRegisters& other);
    /// What an instruction does that is no call. False: the registers are elsewhere afterwards.
    [[nodiscard]] bool apply(const Instruction& one, bool writes_base, std::size_t words_stored);
    /// Behind a call of compiled code.
    void call(CallEffect effect);
    /// Behind a call of native code.
    void native_call();
    void forget() { *this = XRegisters(); }

  private:
    /// A later one is less.
    enum class Word : std::uint8_t {
        kTerm,
        kDead,  ///< no code reads it before it is written: it was not on every way
        kUnknown
    };
    [[nodiscard]] Word at(std::size_t index) const {
        return index < words_.size() ? words_[index] : others_;
    }
    void set(std::size_t index, Word word);
    void store(const Instruction& one, std::size_t words_stored);

    std::vector<Word> words_;
    Word others_ = Word::kDead;
    bool address_taken_ = false;  ///< native code may write to them
    /// What the instruction before has put there, but for padding.
    std::optional<std::uint32_t> ecx_;
};

}  // namespace beamdump::beam
