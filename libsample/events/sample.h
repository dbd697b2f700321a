#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/host.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>

namespace beamdump::sampler {

using Register = arch::host::SampledRegister;
using arch::host::kSampledRegisters;

/// One sample of a thread: all of it is of one moment.
struct Sample {
    pid_t thread = 0;
    std::uint64_t time_ns = 0;  ///< CLOCK_MONOTONIC
    std::uint64_t place = 0;    ///< instruction, in the kernel too
    bool in_kernel = false;
    std::array<std::uint64_t, arch::host::kSampledNumbers> registers{};
    std::uint64_t known = kSampledRegisters;  ///< which of them, a bit each; the others are 0
    std::span<const std::byte>
        stack{};  ///< from the stack pointer on, as much as the kernel copied
    /// From the Erlang stack's top on, where that is another one, as much as was read.
    std::span<const std::byte> erlang_stack{};
    bool after_loss = false;  ///< the kernel has dropped samples of the event before this one

    [[nodiscard]] std::uint64_t at(Register name) const {
        return registers.at(static_cast<std::size_t>(name));
    }
    /// Where a call of the Erlang code that was interrupted returns to, if that may not be on its
    /// stack; nothing: calls of this architecture put it there.
    [[nodiscard]] std::optional<std::uint64_t> link() const {
        constexpr auto kLink = arch::host::kLink;
        return kLink && knows(*kLink) ? std::optional(at(*kLink)) : std::nullopt;
    }
    /// The words that Register::kErlangStack leads to.
    [[nodiscard]] std::span<const std::byte> erlang_words() const {
        return arch::host::kOwnErlangStack ? erlang_stack : stack;
    }
    [[nodiscard]] bool knows(Register name) const {
        return ((known >> static_cast<unsigned>(name)) & 1U) != 0;
    }
};

/// Parses the body of a PERF_RECORD_SAMPLE with sample type IP, TID, TIME, REGS_USER, STACK_USER
/// (perf_event_open(2)). `misc`: of its header. Every length is checked against the body. nullopt:
/// the thread has no user code. kImplausible: it is cut short or has other registers. The result
/// refers to `body`.
Result<std::optional<Sample>> parse_sample(std::span<const std::byte> body, std::uint16_t misc);

}  // namespace beamdump::sampler
