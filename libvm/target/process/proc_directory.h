#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace beamdump::target {

/// From /proc/PID/stat and /proc/PID/status (Linux' Documentation/filesystems/proc.rst).
struct ProcessFacts {
    std::string name;  ///< at most 15 characters
    char state = '?';  ///< R, S, D, T, t, Z, X, I
    pid_t parent = 0;
    pid_t thread_group = 0;  ///< the process's pid, where pid is a thread's
    pid_t tracer = 0;        ///< 0: none
    bool kernel_thread = false;
    std::uint64_t start_ticks = 0;  ///< since boot, of sysconf(_SC_CLK_TCK) a second
    uid_t real_uid = 0;
    uid_t effective_uid = 0;
    uid_t saved_uid = 0;
    gid_t real_gid = 0;
    gid_t effective_gid = 0;
    gid_t saved_gid = 0;
    std::uint64_t permitted_capabilities = 0;
    std::uint64_t effective_capabilities = 0;

    [[nodiscard]] bool dead() const { return state == 'Z' || state == 'X'; }
};

/// Parses the two files' texts. kImplausible where they are not as documented.
Result<ProcessFacts> parse_process_facts(std::string_view stat, std::string_view status);

/// The facts of a process or thread by its id. kNotFound, kTargetDied, kPermission (hidepid).
Result<ProcessFacts> process_facts(pid_t pid);

/// Whether /proc shows the processes by the numbers that this program knows them by. kUnsupported:
/// it is not mounted, or it is another PID namespace's, where a number may be another process.
Result<void> check_proc();

/// /proc/PID, held open: what it gives is of this process even if its pid is used again.
class ProcDirectory {
  public:
    ProcDirectory() = default;
    /// kNotFound: no such process. kPermission: it is there, but /proc does not show it (hidepid).
    /// Errors as check_proc().
    static Result<ProcDirectory> open(pid_t pid);

    /// A whole file of it, at most `most_bytes` (kLimit). kTargetDied: the process has exited.
    [[nodiscard]] Result<std::string> read(std::string_view name,
                                           std::size_t most_bytes = std::size_t{16} << 20U) const;
    /// What a symbolic link of it says.
    [[nodiscard]] Result<std::string> link(std::string_view name) const;
    /// The owner of one of its files: root's where the process is not dumpable.
    [[nodiscard]] Result<uid_t> owner(std::string_view name) const;
    [[nodiscard]] Result<ProcessFacts> facts() const;
    [[nodiscard]] std::string path(std::string_view name) const;
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    [[nodiscard]] std::unexpected<Error> error(std::string_view doing, std::string_view name,
                                               int error) const;
    pid_t pid_ = 0;
    Descriptor directory_;
};

}  // namespace beamdump::target
