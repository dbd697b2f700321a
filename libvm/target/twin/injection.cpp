#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/memory/pagemap.h>
#include <libvm/memory/process_memory.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/process/threads.h>
#include <libvm/target/stop/raised_priority.h>
#include <libvm/target/twin/gadgets.h>
#include <libvm/target/twin/injection.h>
#include <libvm/target/twin/injection_ptrace.h>
#include <libvm/target/twin/injection_threads.h>
#include <libvm/target/twin/thread_state.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace beamdump::target {
namespace {

using memory::Address;

// Room for the borrowed thread, which runs on, above the reaper's frames, which stay.
constexpr std::uint64_t kStackBetween = std::uint64_t{64} << 10U;
// A guard is searched for no further below a stack pointer: no stack of the runtime is as large.
constexpr std::uint64_t kMaxThreadStackBytes = std::uint64_t{256} << 20U;
constexpr std::uint64_t kChainAlignment = 64;
// Frames of the reaper before its last, which ends it; of all at the lowest end of a stack, the
// twin's among them.
constexpr std::uint64_t kReaperFrames = 2;
constexpr std::uint64_t kAllFrames = 5;
constexpr std::uint64_t kThreadFlags =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

}  // namespace

std::vector<std::string> borrowable_threads() {
    return {"sys_sig_dispatc", "erts_ssig_disp", "sys_msg_dispatc", "erts_smsg_disp"};
}

/// Sorts the process's threads by whether they may be borrowed.
Result<void> Injection::find_threads(std::span<const std::string> names) {
    ASSIGN_OR_RETURN(const auto threads, threads_of(pid_));
    std::vector<std::pair<std::size_t, pid_t>> found;
    for (const auto thread : threads) {
        const auto facts = process_facts(thread);
        const auto name = facts ? std::ranges::find(names, facts->name) : names.end();
        if (name != names.end()) {
            found.emplace_back(name - names.begin(), thread);
        } else {
            others_.push_back(thread);
        }
    }
    if (found.empty()) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("process {} has no thread named {} that could make a twin", pid_,
                                fmt::join(names, " or ")));
    }
    std::ranges::sort(found);
    for (const auto& [order, thread] : found) {
        candidates_.push_back(thread);
    }
    std::ranges::sort(others_);
    return {};
}

Result<Injection> Injection::prepare(pid_t pid, std::span<const std::string> threads,
                                     bool filtered_too) {
    ASSIGN_OR_RETURN(const auto process, ProcDirectory::open(pid));
    ASSIGN_OR_RETURN(const auto status, process.read("status"));
    Injection injection;
    injection.pid_ = pid;
    if (has_shadow_stack(status)) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("process {} runs with a shadow stack: none of its threads can make a twin",
                        pid));
    }
    ASSIGN_OR_RETURN(const auto seccomp, strictest_seccomp(pid));
    if (seccomp == Seccomp::kStrict) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format(
                "process {} runs under strict seccomp, which would kill it for making a twin",
                pid));
    }
    injection.filtered_ = seccomp == Seccomp::kFiltered;
    if (injection.filtered_ && !filtered_too) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("system calls of process {} are filtered (Seccomp: 2), and it is "
                                "unknown whether the filter would kill it for making a twin "
                                "(clone, wait4, exit, exit_group): use mode live or freeze or, if "
                                "the filter allows these calls, mode snapshot with --force-twin",
                                pid));
    }
    RETURN_IF_ERROR(await_no_twin(pid, threads));
    RETURN_IF_ERROR(injection.find_threads(threads));
    ASSIGN_OR_RETURN(const auto maps, process.read("maps", std::size_t{256} << 20U));
    ASSIGN_OR_RETURN(auto mappings, Mappings::parse(maps));
    injection.mappings_ = std::move(mappings);
    auto memory = memory::ProcessMemory::open(pid, memory::ReadWay::kProcMem);
    auto pages = memory::Pagemap::open(pid);
    if (!memory || !pages) {
        return std::unexpected(memory ? pages.error() : memory.error());
    }
    injection.memory_ = std::move(*memory);
    injection.pages_ = std::move(*pages);
    ASSIGN_OR_RETURN(const auto gadgets,
                     find_gadgets(*injection.memory_, *injection.pages_, injection.mappings_));
    injection.gadgets_ = gadgets;
    injection.writable_memory_ =
        Descriptor(::open(process.path("mem").c_str(), O_RDWR | O_CLOEXEC));
    if (!injection.writable_memory_.valid()) {
        return fail(errno == EACCES || errno == EPERM ? ErrorCode::kPermission : ErrorCode::kIo,
                    fmt::format("cannot open {} for writing: {}", process.path("mem"),
                                system_error_text(errno)));
    }
    return injection;
}

/// The lowest end of a thread's own stack, seen by the guard below it, without which that might be
/// something else's: a mapping without permissions, or pages of the same one (glibc from 2.42 on).
Result<Address> Injection::own_stack(Address stack_pointer) const {
    const Mapping* stack = mappings_.find(stack_pointer);
    const bool fit = stack != nullptr && stack->writable && !stack->executable && !stack->shared &&
                     stack->inode == 0 && stack->path.empty();
    if (fit) {
        const auto begin = stack->range.begin;
        const auto lowest = stack_pointer - std::min(stack_pointer - begin, kMaxThreadStackBytes);
        ASSIGN_OR_RETURN(const auto guards, pages_->guards({lowest, stack_pointer}));
        if (!guards.empty()) {
            return guards.back().end;
        }
        const Mapping* below = begin > 0 ? mappings_.find(begin - 1) : nullptr;
        if (below != nullptr && !below->readable && !below->writable && !below->executable) {
            return begin;
        }
    }
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("its stack pointer {:#x} is not in a guarded stack of its own", stack_pointer));
}

std::vector<FrameChain> Injection::reaper_chains(Address at, const HostRegisters& selectors) const {
    FrameChain twin(at, gadgets_, selectors);
    // Its parent is the reaper, which ends with the node: the kernel then ends the twin at once,
    // whatever we do at the time, and closes what the node had open. Where calls are filtered, one
    // that the VM never makes might be answered by a signal.
    if (!filtered_) {
        twin.call({SYS_prctl, {PR_SET_PDEATHSIG, SIGKILL}});
    }
    twin.call({SYS_exit_group, {0}});

    FrameChain reaper(
        at + (twin.bytes().size() + kChainAlignment - 1) / kChainAlignment * kChainAlignment,
        gadgets_, selectors);
    // The twin shares the node's table of descriptors. A table of its own would be closed file by
    // file when the twin ends, and each file's flush be waited for: on FUSE or a network, for as
    // long as a server likes. No exit signal: nobody is notified of its end but who waits with
    // __WCLONE.
    reaper.call({SYS_clone, {CLONE_FILES | CLONE_FS, twin.entry()}});
    reaper.call({SYS_wait4, {~std::uint64_t{0}, 0, __WCLONE | __WNOTHREAD}});
    reaper.call({SYS_exit, {0}});
    return {std::move(twin), std::move(reaper)};
}

Result<void> Injection::write(const FrameChain& chain) {
    const auto& bytes = chain.bytes();
    const auto done = ::pwrite(writable_memory_.get(), bytes.data(), bytes.size(),
                               static_cast<off_t>(chain.begin()));
    if (done == static_cast<ssize_t>(bytes.size())) {
        return {};
    }
    return fail(ErrorCode::kIo,
                fmt::format("cannot write {} bytes to the stack of process {} at {:#x}: {}",
                            bytes.size(), pid_, chain.begin(),
                            done < 0 ? system_error_text(errno) : "only a part was taken"));
}

/// Whether a thread is in or after a call at the lowest end of a stack: where a reaper's frames
/// are.
bool Injection::reaps_a_twin(const HostRegisters& registers) const {
    const auto place = place_of(registers);
    const auto stack = own_stack(stack_of(registers));
    return stack &&
           stack_of(registers) - *stack <=
               std::max(page_bytes(), kAllFrames * kFrameBytes + kChainAlignment) &&
           place >= gadgets_.syscall_return && place <= gadgets_.syscall_return + kSyscallBytes;
}

/// A reaper has the name of the thread that made it, and was perhaps made since prepare().
Result<void> Injection::refuse_second_twin(const ThreadStop& stop) {
    for (const auto thread : stop.threads()) {
        if (std::ranges::binary_search(others_, thread)) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto registers, read_registers(thread));
        if (reaps_a_twin(registers)) {
            return twin_of(pid_, thread);
        }
    }
    return {};
}

Result<void> Injection::write_frames_to(pid_t thread) {
    ASSIGN_OR_RETURN(auto state, read_thread_state(thread));
    const auto stopped = state.registers;
    if (seccomp_of(thread) != Seccomp::kNone && !filtered_) {
        return fail(ErrorCode::kUnsupported, "its system calls have just become filtered");
    }
    const auto stack_pointer = stack_of(stopped);
    ASSIGN_OR_RETURN(const auto stack, own_stack(stack_pointer));
    ASSIGN_OR_RETURN(const auto going_on, restarted(stopped));
    ASSIGN_OR_RETURN(const auto mask, signal_mask_of(thread));
    state.registers = going_on;
    state.signal_mask = mask;
    const auto reaper = reaper_chains(stack, stopped);
    const auto build = [&](Address at) {
        FrameChain chain(at, gadgets_, stopped);
        chain.call({SYS_clone, {kThreadFlags, reaper.back().entry()}});
        chain.resume(state);
        return chain;
    };
    const auto bytes = build(0).bytes().size();
    const auto lowest = stack + kStackBetween;
    if (stack_pointer < lowest + kRedZoneBytes + bytes + kChainAlignment) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("only {} bytes of its stack are free", stack_pointer - stack));
    }
    const auto at = (stack_pointer - kRedZoneBytes - bytes) / kChainAlignment * kChainAlignment;
    const auto borrowed = build(at);
    for (const auto* chain : {&reaper.front(), &reaper.back(), &borrowed}) {
        RETURN_IF_ERROR(write(*chain));
    }
    RETURN_IF_ERROR(follow_clones(thread));
    auto start = stopped;
    go_to(start, gadgets_.sigreturn, borrowed.sigreturn_entry());
    borrowed_ = thread;
    borrowed_begin_ = borrowed.begin();
    reaper_entry_ = reaper.back().entry();
    return set_running_point(thread, start);
}

Result<void> Injection::write_frames(const ThreadStop& stop) {
    RETURN_IF_ERROR(verify_gadgets(*memory_, gadgets_));
    RETURN_IF_ERROR(refuse_second_twin(stop));
    std::string reasons;
    for (const auto thread : candidates_) {
        if (!stop.at_rest(thread)) {
            reasons += fmt::format("; thread {} is handling a signal or has ended", thread);
            continue;
        }
        auto planted = write_frames_to(thread);
        if (planted || borrowed_ != 0) {
            return planted;
        }
        reasons += fmt::format("; thread {}: {}", thread, planted.error().message);
    }
    return fail(ErrorCode::kUnsupported,
                fmt::format("no thread of process {} can make a twin{}", pid_, reasons));
}

Result<NewTwin> Injection::run(std::int64_t deadline_ns) {
    NewTwin born;
    const auto reaper = run_to_clone(borrowed_, Watch::kEachCall, deadline_ns);
    if (!reaper) {
        // If it still runs, it must stop before it can be resumed with the others.
        ::ptrace(PTRACE_INTERRUPT, borrowed_, nullptr, nullptr);
        return std::unexpected(reaper.error());
    }
    born.reaper = *reaper;
    RETURN_IF_ERROR(await_start(born.reaper, deadline_ns));
    const auto begin_ns = clock_ns(CLOCK_MONOTONIC);
    // The kernel's fork is this thread's work: on a busy machine the node would wait for its turns.
    const RaisedPriority raised(born.reaper);
    ASSIGN_OR_RETURN(const auto twin, run_to_clone(born.reaper, Watch::kClone, deadline_ns));
    born.twin = twin;
    born.fork_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
    return born;
}

/// Whether the borrowed thread stands before the system call that makes the reaper.
bool Injection::before_reaper(const HostRegisters& registers, const ThreadStatus& look) const {
    const auto place = place_of(registers);
    if (stack_of(registers) == borrowed_begin_ + kSigreturnEntry) {
        return place >= gadgets_.sigreturn && place <= gadgets_.sigreturn + kSigreturn.size();
    }
    return stack_of(registers) == borrowed_begin_ + kFrameBytes &&
           (place == gadgets_.syscall_return ||
            begins(registers, SYS_clone, look.at_system_call()));
}

void Injection::call_off(pid_t thread, const ThreadStatus& look) const {
    auto registers = read_registers(thread);
    if (!registers) {
        return;  // it was killed
    }
    if (thread == borrowed_ && before_reaper(*registers, look)) {
        // To the frame behind that of the system call, which restores the thread.
        go_to(*registers, gadgets_.sigreturn, borrowed_begin_ + kFrameBytes + kSigreturnEntry);
    } else if (stack_of(*registers) == reaper_entry_ &&
               place_of(*registers) == gadgets_.syscall_return + kSyscallBytes) {
        go_to(*registers, place_of(*registers), reaper_entry_ + kReaperFrames * kFrameBytes);
    } else {
        return;
    }
    // A thread that cannot be changed was killed.
    [[maybe_unused]] const auto written = write_registers(thread, *registers);
}

bool Injection::let_go() const {
    // Where nothing was made, what we trace is another twin.
    if (borrowed_ == 0) {
        return true;
    }
    std::vector<ProcDirectory> made;
    const bool released = release_traced(pid_, [&](pid_t thread, const ThreadStatus& look) {
        call_off(thread, look);
        auto directory = ProcDirectory::open(thread);
        if (directory && thread != borrowed_) {
            made.push_back(std::move(*directory));
        }
    });
    return released && await_gone(made);
}

}  // namespace beamdump::target
