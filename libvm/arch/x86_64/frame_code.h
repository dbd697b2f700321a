#pragma once

#include <libvm/arch/x86_64/x_registers.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace beamdump::beam {

/// What a call instruction calls, or where a jump leads.
struct FrameCall {
    std::optional<std::uint64_t> target{};  ///< nothing: a register tells
    bool in_word = false;                   ///< the target's address is in the word at `target`
};

/// Where the jump leads with which code at that address begins, if it begins with one that tells it
/// and is taken always.
std::optional<FrameCall> first_jump(std::span<const std::byte> code, std::uint64_t address);

/// What a function's code says of its frame at one place (jit/x86/beam_asm.hpp, instr_common.cpp,
/// OTP 25 to 29, without frame pointers).
struct FramePlace {
    /// Registers that the code keeps on the stack's top for a moment.
    std::uint32_t pushed = 0;
    /// From there to the return address.
    std::uint32_t words = 0;
    /// Whether every one of them was written since the frame was made, on all ways to the place.
    /// Else some may be those of a frame that was there before.
    bool complete = false;
    /// The code has switched to the thread's own stack, to call native code.
    bool on_native_stack = false;
    /// The call that returns there, if one does.
    std::optional<FrameCall> call{};
    /// How many x registers, from the first on, certainly hold terms of the process.
    std::uint32_t x_registers = 0;
    /// The function reads no others from there on.
    bool all_x_registers = false;
};

/// What is known of a function before its code is read.
struct FrameEntry {
    /// How many x registers its arguments are in; nothing: it is not known.
    std::optional<std::uint64_t> arity{};
    /// What a call with a target leaves in the x registers.
    std::function<CallEffect(const FrameCall&)> effect{};
};

/// The code of one function of the JIT, or of one of its shared fragments: which words of the
/// frame each instruction makes, writes and gives back, and which x registers hold terms.
/// Instructions are followed from the entry on, over both ways of each branch.
class FrameCode {
  public:
    /// `code` begins with the entry, at `address`. Nothing: it has an instruction that is not
    /// known, or jumps to places that are not.
    static std::optional<FrameCode> read(std::span<const std::byte> code, std::uint64_t address,
                                         const FrameEntry& entry = {});

    /// Nothing: no way from the entry leads to an instruction at this place, or two with frames of
    /// different sizes do, or the heap's top is not in its register yet after native code that may
    /// have collected.
    [[nodiscard]] std::optional<FramePlace> at(std::uint64_t place) const;

  private:
    struct State {
        std::vector<bool> written;  ///< words of the frame, from the return address down
        std::uint32_t pushed = 0;
        bool native = false;
        XRegisters x{};
    };
    class Reader;

    std::uint64_t address_ = 0;
    std::map<std::size_t, State> states_;     ///< by place in the code
    std::map<std::size_t, FrameCall> calls_;  ///< by where they return to
    std::set<std::size_t> contradictory_;
    std::set<std::size_t> before_heap_top_;  ///< instructions that load it from the structure
    bool x_known_ = true;                    ///< no code enters the function in its middle unseen
};

}  // namespace beamdump::beam
