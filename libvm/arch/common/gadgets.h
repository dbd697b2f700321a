#pragma once

#include <libvm/memory/memory_source.h>

#include <array>
#include <cstdint>

namespace beamdump::target {

/// Where two short instruction sequences are in a target's code.
struct Gadgets {
    memory::Address syscall_return = 0;  ///< a system call, and the return of a function
    memory::Address sigreturn = 0;       ///< the number of rt_sigreturn, and a system call
    friend bool operator==(const Gadgets&, const Gadgets&) = default;
};

/// A system call with its arguments.
struct SystemCall {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments{};
};

/// All of a signal mask's bits; the kernel leaves SIGKILL and SIGSTOP out.
inline constexpr std::uint64_t kAllSignals = ~std::uint64_t{0};
/// No mode of an alternate signal stack: rt_sigreturn ignores the EINVAL and leaves the thread's
/// own as it is, which from outside cannot be asked for (restore_altstack in Linux'
/// kernel/signal.c).
inline constexpr std::uint32_t kKeepAlternateStack = 7;

}  // namespace beamdump::target
