#pragma once

#include <libdump/term/process_stack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump {

/// A y register of a frame.
struct FrameRegister {
    std::uint64_t index = 0;
    std::uint64_t word = 0;
    std::optional<std::uint64_t> catch_address;  ///< the catch's code address; only for catches
    bool is_catch = false;
};

/// One stack frame: its code address and its y registers.
struct StackFrame {
    std::uint64_t index = 0;                     ///< 0: the current function
    std::uint64_t code_address = 0;              ///< saved instruction pointer, or return address
    std::optional<std::uint64_t> stack_address;  ///< of the return address; none for frame 0
    std::optional<CodeLocation> location;
    std::vector<FrameRegister> registers;
    bool continued =
        false;  ///< more registers of a frame beyond kMaxRegisters: same function, same address
    bool cut_short = false;  ///< the stack's words end here: they are not in the dump
};

/// A stack as frames, from the current function to the bottom, one at a time.
class FrameCursor {
  public:
    /// Registers in one StackFrame at most; the VM allows 1024. A torn stack may have more between
    /// two return addresses: they come in further frames, marked `continued`.
    static constexpr std::size_t kMaxRegisters = 2048;

    FrameCursor(TermContext& context, const TagScheme& scheme, const ProcessStack& stack);

    /// The next frame; nullopt after the last.
    std::optional<StackFrame> next();

  private:
    [[nodiscard]] StackFrame begin_frame(std::uint64_t code_address,
                                         std::optional<std::uint64_t> stack_address);

    TermContext* context_;  ///< non-owning
    StackWalk walk_;
    std::optional<StackFrame> pending_;
    std::uint64_t frames_ = 0;
};

}  // namespace beamdump
