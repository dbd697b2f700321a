#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::arch {

using Code = std::span<const std::byte>;

/// Where the structure of a process has the tops of its heap and its stack: bytes.
struct TopFields {
    std::uint32_t heap_top = 0;
    std::uint32_t stack_top = 0;
};

/// How a fragment of the JIT calls native code, with the tops of heap and stack in the structure.
struct FragmentCall {
    std::size_t behind = 0;         ///< the offset in its code at which the call returns
    std::uint64_t x_registers = 0;  ///< from the scheduler's registers to its x registers, in bytes
    /// The native function that is called, where the code itself says it, or the address of a word
    /// that says it; nothing: what is called is in a register.
    std::optional<std::uint64_t> callee{}, callee_word{};
};

/// What a fragment calls: a native function of the emulator, or one that it was given.
enum class Called : bool { kFunction, kRegister };

/// The places to which the native frames return that compiled code has called.
struct NativeReturns {
    std::uint64_t to_code = 0;  ///< of the outermost: in compiled code
    /// Those of the frames below, in any order; those of x86-64 may be of calls that have ended.
    std::vector<std::uint64_t> to_native{};
    /// Where the compiled code that made the call returns to, if it has put that on the thread's
    /// own stack: its fragments of aarch64 do. On x86-64 it is on top of the Erlang stack.
    std::optional<std::uint64_t> caller{};
};

}  // namespace beamdump::arch
