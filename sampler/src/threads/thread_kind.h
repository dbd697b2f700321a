#pragma once

#include <libsample/events/threads.h>

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace beamdump::sampler {

/// What a thread of a node is there for.
enum class ThreadKind : std::uint8_t {
    kMain,
    kScheduler,
    kDirtyCpu,
    kDirtyIo,
    kAux,
    kPoll,
    kAsync,
    kSignals,    ///< takes the signals of the operating system
    kMessages,   ///< sends what is traced or logged
    kRunQueues,  ///< looks after run queues
    kOther,      ///< of a NIF, a driver or a library
};

/// As JSON names it: "dirty_cpu".
std::string_view thread_kind_name(ThreadKind kind);

struct ThreadRole {
    ThreadKind kind = ThreadKind::kOther;
    std::uint32_t number = 0;  ///< of schedulers, aux, poll and async threads
    auto operator<=>(const ThreadRole&) const = default;
};

/// By the name that the VM gives a thread, of which the kernel keeps 15 characters (erl_process.c,
/// erl_async.c, erl_poll.c, sys.c, erl_trace.c, OTP 25 to 29).
ThreadRole role_of_name(std::string_view name);

/// The role of each thread of a process. Of several with one name the first one has it: a thread
/// that a library makes has the name of its maker.
std::map<pid_t, ThreadRole> roles_of(pid_t pid, std::span<const NodeThread> threads);

}  // namespace beamdump::sampler
