#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace beamdump::target {

/// A process that watches over this one while a node is held: a process that was stopped (SIGSTOP,
/// a debugger, a frozen cgroup) cannot let the node go by itself. When a hold's deadline has passed
/// it sends SIGCONT to this process if that is stopped, and kills it if that does not help, and
/// says so on standard error: the kernel then lets the node go. It ends with this process, holds
/// nothing but standard error open, has a session of its own, no capabilities, and sleeps while
/// nothing is held.
class Guardian {
  public:
    /// Before any thread is made. kLimit: no process can be made.
    static Result<std::unique_ptr<Guardian>> start();
    Guardian(const Guardian&) = delete;
    Guardian& operator=(const Guardian&) = delete;
    ~Guardian();

    [[nodiscard]] pid_t pid() const { return pid_; }

    /// A hold begins that ends by then (CLOCK_MONOTONIC). kLimit: the guardian is gone, so that
    /// nothing may be held.
    Result<void> begin(std::int64_t deadline_ns);
    /// Moves the deadline of a hold that has no limit: it is given more time after it.
    void extend(std::int64_t deadline_ns);
    void end();

    /// Whether it had to wake this process since consume_woken().
    [[nodiscard]] bool woken() const;
    bool consume_woken();

  private:
    struct Page;
    struct Unmap {
        void operator()(Page* page) const;
    };
    Guardian(std::unique_ptr<Page, Unmap> page, pid_t pid, Descriptor handle)
        : page_(std::move(page)), pid_(pid), handle_(std::move(handle)) {}
    /// What the guardian does; never returns.
    [[noreturn]] static void watch(Page& page, pid_t parent);
    static void resume(Page& page, pid_t parent, int parent_handle, std::int64_t deadline_ns);

    std::unique_ptr<Page, Unmap> page_;
    pid_t pid_;
    Descriptor handle_;  // signals go to the guardian, never to another that got its id
};

}  // namespace beamdump::target
