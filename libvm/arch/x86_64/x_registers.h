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

/// The arguments of a call of native code, as far as the instructions right before it tell them.
class NativeArguments {
  public:
    void apply(const Instruction& one);
    /// How many x registers the call keeps, where it is one of those that may collect and that are
    /// given the process, its registers and how many are live, in this order: appending to a
    /// binary, making and changing maps, applying a function with a constant arity
    /// (jit/x86/instr_bs.cpp, instr_map.cpp, instr_call.cpp; OTP 25 and 27). All of them are terms
    /// before the call and after it.
    [[nodiscard]] std::optional<std::uint32_t> live() const {
        return process_ && registers_ ? live_ : std::nullopt;
    }
    /// Where ways meet: only what holds on both. Whether that changes it.
    bool meet(const NativeArguments& other);

  private:
    bool process_ = false;    ///< in the first argument's register
    bool registers_ = false;  ///< in the second's
    std::optional<std::uint32_t> live_;
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
    /// Behind the place where the tops of stack and heap are taken from the structure again, since
    /// native code may have collected.
    void leave_native();

  private:
    /// A later one is less.
    enum class Word : std::uint8_t {
        kTerm,
        kDead,  ///< no code reads it before it is written: it was not on every way
        kUnknown
    };
    void forget() { *this = XRegisters(); }
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
    NativeArguments native_;
    bool kept_ = false;  ///< the native code that was called last keeps them if it collects
};

}  // namespace beamdump::beam
