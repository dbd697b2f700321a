#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>
#include <libvm/arch/host.h>
#include <libvm/memory/memory_source.h>
#include <libvm/memory/pagemap.h>
#include <libvm/memory/present_pages.h>
#include <libvm/target/image/mappings.h>
#include <libvm/target/stop/thread_stop.h>

#include <memory>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// Threads of an Erlang VM that wait outside of the schedulers on stacks of their own, the best
/// first, by the 15 characters that the kernel keeps of their names: the dispatchers of signals and
/// of system messages (erts/emulator/sys/unix/sys.c and beam/erl_trace.c: sys_sig_dispatcher and
/// sys_msg_dispatcher of OTP 25, erts_ssig_disp and erts_smsg_disp later).
std::vector<std::string> borrowable_threads();

/// The processes that an injection made, both traced and stopped: the reaper in its clone, the twin
/// at its start.
struct NewTwin {
    pid_t twin = 0;
    pid_t reaper = 0;  ///< a thread of the node, which waits for the twin's end and goes
    /// How long the kernel's fork took: from letting the reaper go until the twin was there.
    std::int64_t fork_ns = 0;
};

/// Makes a running process fork without leaving a SIGCHLD, a zombie or a handle: system calls of a
/// borrowed thread, started by one change of its registers. From then on everything happens without
/// this process: the borrowed thread makes a thread (the reaper) and goes back to where it was; the
/// reaper makes the twin, waits for its end and ends; the twin ends unless it is held. The twin is
/// traced from its start and held there by its tracer; it never runs otherwise.
///
/// All calls on the thread that made the ThreadStop.
class Injection {
  public:
    /// Checks what can be known while the process runs. Changes nothing. kUnsupported: a shadow
    /// stack, strict seccomp, a seccomp filter on any thread unless `filtered_too`, no thread of
    /// these names, no code to borrow. kExists: a twin exists (await_no_twin()). kPermission.
    static Result<Injection> prepare(pid_t pid, std::span<const std::string> threads,
                                     bool filtered_too = false);

    /// Writes the frames to unused stack memory and points a borrowed thread to them. Nothing runs
    /// before it is resumed; if this process dies, it runs by itself. kUnsupported: no suitable
    /// thread (handling a signal, sleeping with a time-out, too little stack). kExists: a twin
    /// already exists. kLimit: an earlier one is about to end.
    Result<void> write_frames(const ThreadStop& stop);

    /// Runs the borrowed thread until the twin exists. kLimit: the kernel refused a thread or a
    /// process (with its reason), or the deadline (CLOCK_MONOTONIC) passed. After a failure resume
    /// `stop` first, with call_off() for the borrowed thread, then call let_go().
    Result<NewTwin> run(std::int64_t deadline_ns);

    /// After a failure of run(), to be called before `thread` is detached, as it stands: if it has
    /// not yet made its thread or process, it will not. Otherwise the node would make a twin while
    /// it runs, for nothing.
    void call_off(pid_t thread, const ThreadStatus& look) const;
    /// After a failure of run(): detaches the threads and processes made so far, so that they exit,
    /// and waits for that. The node is then as before. False: one still hangs in the kernel after
    /// some seconds.
    [[nodiscard]] bool let_go() const;

    /// Whether the process's system calls are filtered: whether a twin of it does not end with it
    /// by itself.
    [[nodiscard]] bool filtered() const { return filtered_; }
    [[nodiscard]] pid_t borrowed() const { return borrowed_; }

  private:
    Injection() = default;
    Result<void> write_frames_to(pid_t thread);
    Result<void> refuse_second_twin(const ThreadStop& stop);
    [[nodiscard]] bool reaps_a_twin(const HostRegisters& registers) const;
    [[nodiscard]] bool before_reaper(const HostRegisters& registers,
                                     const ThreadStatus& look) const;
    Result<void> find_threads(std::span<const std::string> names);
    Result<void> write(const FrameChain& chain);
    Result<memory::Address> own_stack(memory::Address stack_pointer) const;
    [[nodiscard]] std::vector<FrameChain> reaper_chains(memory::Address at,
                                                        const HostRegisters& selectors) const;

    pid_t pid_ = 0;
    bool filtered_ = false;          // system calls are, by seccomp
    std::vector<pid_t> candidates_;  // the best first
    std::vector<pid_t> others_;      // threads of other names, ascending
    Mappings mappings_;
    Gadgets gadgets_;
    std::unique_ptr<memory::MemorySource> memory_;
    std::unique_ptr<memory::Pagemap> pages_;
    Descriptor writable_memory_;
    pid_t borrowed_ = 0;
    memory::Address borrowed_begin_ = 0;  // of its frames
    memory::Address reaper_entry_ = 0;
};

}  // namespace beamdump::target
