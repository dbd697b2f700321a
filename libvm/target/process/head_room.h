#pragma once

#include <libdump/base/amount_text.h>
#include <libdump/base/error.h>
#include <libvm/target/process/cgroups.h>
#include <libvm/target/process/kept_files.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// The remaining amount of a resource, and the limit that determines it.
struct Room {
    std::uint64_t amount = std::numeric_limits<std::uint64_t>::max();  ///< bytes, or tasks
    std::string limit;        ///< for a sentence: "memory.max of cgroup /system.slice is 512 MiB"
    bool ends_group = false;  ///< memory.oom.group: running out ends every process of the cgroup
};

/// What the kernel counts for one memory cgroup; absent: it has no such file, or no limit.
struct CgroupMemory {
    std::string name;                                  ///< as /proc/PID/cgroup has it
    std::optional<std::uint64_t> used_bytes;           ///< with page cache
    std::optional<std::uint64_t> inactive_file_bytes;  ///< of these: page cache, taken back first
    std::optional<std::uint64_t> limit_bytes;
    std::optional<std::uint64_t> high_bytes;  ///< beyond it processes are slowed down
    std::optional<std::uint64_t> swap_bytes;
    std::optional<std::uint64_t> oom_kills;  ///< processes that the OOM killer ended in it
    std::optional<std::uint64_t>
        limit_reached;  ///< times that its use was about to exceed the limit
};

/// The limits under which a process allocates memory and makes tasks: its cgroups and all above
/// them that are visible here, of version 1 and 2 (Linux' Documentation/admin-guide/cgroup-v2.rst
/// and cgroup-v1/memory.rst, pids.rst), and the machine's.
class HeadRoom {
  public:
    /// Finds the cgroups. Those that are not mounted here are unknown and left out. `root` is where
    /// /proc and the cgroups are looked up: "/" but in tests. kTargetDied, kNotFound.
    static Result<HeadRoom> of(pid_t pid, const std::filesystem::path& root = "/");
    /// Finds the cgroups for a caller that reads again and again: its files stay open in `kept`,
    /// and what does not change is not read again.
    static Result<HeadRoom> kept(pid_t pid, std::shared_ptr<KeptFiles> kept,
                                 const std::filesystem::path& root = "/");

    /// Whether the process is in the same cgroups as when they were found.
    [[nodiscard]] bool holds() const;

    /// Bytes that can still be charged, at the tightest place: inactive page cache counts as free,
    /// for the kernel takes it back. Reads a few small files; the larger memory.stat only where
    /// less than `enough` is left without it. kImplausible: a file is not as documented.
    [[nodiscard]] Result<Room> memory(
        std::uint64_t enough = std::numeric_limits<std::uint64_t>::max()) const;
    /// What is counted for the process's own memory cgroup, and for those above it.
    [[nodiscard]] std::vector<CgroupMemory> memory_cgroups() const;
    /// The lowest of these that has a limit: its name, used_bytes, limit_bytes and
    /// inactive_file_bytes. Reads less than memory_cgroups().
    [[nodiscard]] std::optional<CgroupMemory> limited_memory() const;
    /// CgroupMemory::limit_reached of the lowest that counts it.
    [[nodiscard]] std::optional<std::uint64_t> limit_reached() const;
    /// CgroupMemory::oom_kills of the lowest that counts them.
    [[nodiscard]] std::optional<std::uint64_t> oom_kills() const;
    /// Percent of the last 10 s in which some task of the process's cgroup, or where that is not
    /// told, of the machine, waited for memory (Linux' Documentation/accounting/psi.rst). Nothing
    /// where the kernel does not count it.
    [[nodiscard]] std::optional<double> memory_pressure() const;
    /// Threads and processes that can still be made.
    [[nodiscard]] Result<Room> tasks() const;
    /// Bytes that can still be promised where vm.overcommit_memory is 2; else no limit.
    [[nodiscard]] Result<Room> committable_bytes() const;

    /// The limits that hold for both processes together.
    [[nodiscard]] HeadRoom shared_with(const HeadRoom& other) const;

  private:
    [[nodiscard]] std::optional<std::string> text_of(const std::filesystem::path& file) const;

    std::filesystem::path root_;
    std::filesystem::path memberships_file_;
    std::string memberships_;
    std::shared_ptr<KeptFiles> kept_;      // null: files are opened for each reading
    std::vector<CgroupDirectory> memory_;  // from the process's own up
    std::vector<CgroupDirectory> tasks_;
};

}  // namespace beamdump::target
