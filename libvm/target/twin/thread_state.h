#pragma once

#include <libdump/base/error.h>
#include <libvm/arch/host.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

namespace beamdump::target {

// What a machine has its own ways for: reading and changing the threads of which a twin is made. By
// its part of target/machine.

/// A stopped thread's general registers. kTargetDied.
Result<HostRegisters> read_registers(pid_t thread);
/// Changes them, and which system call it is in. kTargetDied.
Result<void> write_registers(pid_t thread, const HostRegisters& registers);

/// All of a stopped thread's state but its signal mask, as read: its system call is not restarted.
/// kUnsupported: it has state that a signal frame does not restore.
Result<ThreadState> read_thread_state(pid_t thread);

/// Whether /proc/PID/status says that the process has a shadow stack. Where the kernel does not say
/// it there, read_thread_state() finds it.
bool has_shadow_stack(std::string_view status);

/// Whether a system call gave up for a signal, to be restarted by the kernel: no refusal. fork does
/// so for SIGSTOP. ERESTARTSYS and the like (Linux' include/linux/errno.h).
constexpr bool begins_anew(std::int64_t result) {
    constexpr std::int64_t kFirst = -512;
    constexpr std::int64_t kLast = -516;
    return result <= kFirst && result >= kLast;
}

/// Of a thread that stands at the entry or the end of a system call (PTRACE_SYSCALL): the call's
/// result if it is that call and about to return; nothing in any other case.
std::optional<std::int64_t> result_of(const HostRegisters& registers, long call);
/// Whether a thread is about to begin that call, for the first time or anew: it stands at its
/// entry (`at_system_call`: it stands at the entry or the end of one), or a signal took it out.
bool begins(const HostRegisters& registers, long call, bool at_system_call);

}  // namespace beamdump::target
