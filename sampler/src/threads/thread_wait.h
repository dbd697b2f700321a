#pragma once

#include <libsample/native/thread_image.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace beamdump::sampler {

/// What a thread waits for in the kernel.
enum class WaitsFor : std::uint8_t {
    kMutex,       ///< of the C library
    kTableLock,   ///< of an ETS table
    kEvent,       ///< its own event of the emulator, by which another thread wakes it
    kFutex,       ///< another word that a thread changes
    kReady,       ///< that descriptors are ready: epoll, poll, select
    kDescriptor,  ///< one descriptor, by reading, writing and the like
    kTime,
    kOther,  ///< another system call
    kNone,   ///< it is in the kernel outside of a system call: a fault, a stop
};

/// As JSON names it: "mutex".
std::string_view waits_for_name(WaitsFor what);

struct ThreadWait {
    WaitsFor what = WaitsFor::kNone;
    std::string call{};                         ///< of the system: "futex"; empty: none
    std::optional<std::uint64_t> address{};     ///< of the mutex or futex
    std::optional<std::uint64_t> event{};       ///< of kEvent: the thread's own structure for it
    std::optional<std::string> variable{};      ///< what is at that address
    std::optional<std::uint32_t> descriptor{};  ///< of kDescriptor
    std::optional<std::string> file{};          ///< what that is: "pipe:[1234]"
    std::optional<std::uint64_t> owner_tid{};   ///< of the mutex, as the C library stores it
    std::optional<pid_t> owner{};               ///< the thread of the node that this is
    auto operator<=>(const ThreadWait&) const = default;
};

/// What a thread waits for by its system call alone: no mutex, of which its stack tells.
ThreadWait wait_of(const std::optional<SystemCall>& call);

/// Whether a thread waits for a mutex of glibc: native frames, the innermost first, are in
/// pthread_mutex_lock(), and the kernel waits as long as the word is 2: held and waited for
/// (nptl/lowlevellock.c, glibc 2.36 to 2.42).
bool waits_for_mutex(const std::optional<SystemCall>& call, std::span<const std::string> native);

/// The thread id in a pthread_mutex_t that is held and waited for (`__owner` of
/// sysdeps/nptl/bits/struct_mutex.h), in its process's PID namespace. `bytes`: the first 12 of the
/// mutex. Nothing: it is not held now, or just changes hands.
std::optional<std::uint64_t> mutex_owner(std::span<const std::byte, 12> bytes);

}  // namespace beamdump::sampler
