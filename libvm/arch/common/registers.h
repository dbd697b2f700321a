#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>

namespace beamdump::arch {

/// What compiled code keeps in registers of the processor, by what it is for. The folder of each
/// architecture says which registers these are.
struct JitRegisters {
    std::uint64_t process = 0;    ///< the running process's structure
    std::uint64_t stack_top = 0;  ///< of its Erlang stack
    std::uint64_t heap_top = 0;
    std::uint64_t reductions_left = 0;
    std::uint64_t scheduler = 0;  ///< in the scheduler's registers
};

/// A stopped thread's registers.
struct ThreadRegisters {
    /// A vector register: its lower and its upper half.
    using Vector = std::array<std::uint64_t, 2>;
    /// As many as the architecture with the most has.
    static constexpr std::size_t kMostGeneral = 32;
    static constexpr std::size_t kMostVectors = 32;

    pid_t thread = 0;
    std::uint64_t instruction = 0;
    /// Of the thread's own stack, or of the Erlang stack where compiled code uses it so.
    std::uint64_t stack_pointer = 0;
    JitRegisters jit{};
    /// The number of the system call that it is in; negative: it is in none.
    std::int64_t system_call = -1;
    /// The system call's first argument, if it is in one and has not lost it.
    std::optional<std::uint64_t> first_argument = {};
    /// All general registers, in the architecture's order, those above among them.
    std::array<std::uint64_t, kMostGeneral> general_words{};
    std::size_t general_count = 0;
    /// Zeros where they were not read.
    std::array<Vector, kMostVectors> vectors{};
    /// Where the C library describes the thread.
    std::uint64_t thread_pointer = 0;

    [[nodiscard]] bool in_system_call() const { return system_call >= 0; }
    [[nodiscard]] std::span<const std::uint64_t> general() const {
        return std::span(general_words).first(general_count);
    }
    /// Whether a general register has this word.
    [[nodiscard]] bool has_word(std::uint64_t word) const {
        return std::ranges::find(general(), word) != general().end();
    }
    /// Whether it has not run since: instruction and general registers are the same.
    [[nodiscard]] bool stands_as(const ThreadRegisters& before) const {
        return instruction == before.instruction && std::ranges::equal(general(), before.general());
    }
};

}  // namespace beamdump::arch
