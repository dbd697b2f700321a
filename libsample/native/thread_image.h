#pragma once

#include <libsample/events/sample.h>
#include <libvm/memory/memory_source.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/unwind/native_frames.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace beamdump::sampler {

/// Stands for the kernel's functions, on top of what called it.
inline constexpr std::string_view kInKernel = "[kernel]";

/// What native frames are found by. Refers to the sample's stack.
target::ThreadStack stack_of(const Sample& sample);

/// A system call that a thread is in, by its number on x86-64.
struct SystemCall {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments{};
    bool operator==(const SystemCall&) const = default;
};

/// Where a thread is in a system call.
struct CallPlace {
    std::uint64_t stack_pointer = 0;
    std::uint64_t instruction = 0;
    std::optional<SystemCall> call{};  ///< nothing: in the kernel for another reason
    bool operator==(const CallPlace&) const = default;
};

/// Parses /proc/PID/task/ID/syscall (proc(5)). Nothing: the thread runs. kImplausible: the text has
/// another form.
Result<std::optional<CallPlace>> parse_call_place(std::string_view text);

/// Registers and the bytes of the stack of a thread at one moment, for target::NativeFrames.
class ThreadImage {
  public:
    /// A copy of a sample.
    static ThreadImage of(const Sample& sample);

    /// Of a thread that stands, by its registers. Errors as MemorySource::read_some().
    static Result<ThreadImage> stopped(const target::ThreadRegisters& thread,
                                       memory::MemorySource& memory);

    /// Of a thread that waits, or was stopped, in a system call: of its registers two are known.
    /// Whether it has not run meanwhile is the caller's matter (thread_rest()). Nothing: it runs.
    /// kPermission: the kernel does not tell where it is. kTargetDied: it has ended.
    static Result<std::optional<ThreadImage>> waiting(pid_t pid, pid_t thread,
                                                      memory::MemorySource& memory);

    /// Refers to this object.
    [[nodiscard]] Sample sample() const;
    /// The system call of one that waits.
    [[nodiscard]] const std::optional<SystemCall>& call() const { return call_; }

  private:
    ThreadImage() = default;
    Result<void> read_stack(memory::MemorySource& memory);

    Sample sample_{};
    std::vector<std::byte> stack_;
    std::vector<std::byte> erlang_stack_;
    std::optional<SystemCall> call_;
};

}  // namespace beamdump::sampler
