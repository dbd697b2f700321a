#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump::arch {

/// One of the ways in which the JIT begins a function that may yield.
struct FunctionStart {
    std::size_t bytes = 0;
    /// Where the emulator itself might schedule the process out: the offsets of instructions there,
    /// and of the first one after them, at which the frame has the return address.
    std::span<const std::uint64_t> instructions;
    /// Whether a function begins so with these bytes, as many as `bytes`.
    bool (*begins)(std::span<const std::byte> code) = nullptr;
};

/// What is known of the beginning of a node's functions.
struct FunctionStarts {
    std::span<const FunctionStart> ways;
    /// Which of ThreadRegisters::general() have the first arguments there. None: all are words from
    /// the place that JitRegisters::scheduler leads to.
    std::span<const std::uint8_t> arguments;
};

}  // namespace beamdump::arch
