#pragma once

#include <libdump/base/error.h>

#include <filesystem>
#include <string_view>

namespace beamdump::watch {

/// Keeps in memory what this process touches from here on, and what it has touched (mlockall(2),
/// MCL_ONFAULT): nothing that it runs is read from a disk again when memory is short. Only where
/// locked memory has no limit (RLIMIT_MEMLOCK, or CAP_IPC_LOCK): with one, later allocations would
/// fail. Whether it did. Children have nothing locked.
bool stay_in_memory();

/// Gives back to the kernel what was freed of this process's heap. That of locked memory it does
/// not take (madvise(2), MADV_DONTNEED): all is unlocked meanwhile, and then as after
/// stay_in_memory().
void give_back_free_memory();

/// Moves this process, and so its later children, to a cgroup of the memory controller, which is
/// made where it is not there. `name`: as Config::cgroup. What it has allocated before
/// still counts where it was. kNotFound: no such controller is mounted. Errors of the files'.
/// `root`: where the file system begins.
Result<void> move_to_cgroup(std::string_view name, const std::filesystem::path& root = "/");

}  // namespace beamdump::watch
