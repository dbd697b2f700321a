#pragma once

#include "support/temporary_directory.h"

#include <libvm/target/process/head_room.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace beamdump::test {

inline constexpr auto kUnified =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
inline constexpr auto kVersion1 =
    "24 23 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    "39 31 0:36 /docker/1f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";

/// A made-up root of the file system.
class Tree {
  public:
    Tree() {
        file("proc/meminfo",
             "MemTotal: 8388608 kB\nMemFree: 10 kB\nMemAvailable: 4194304 kB\n"
             "CommitLimit: 4194304 kB\nCommitted_AS: 3145728 kB\n");
        file("proc/sys/vm/overcommit_memory", "0\n");
    }
    void file(const std::filesystem::path& name, std::string_view text) const {
        const auto path = root() / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    [[nodiscard]] std::filesystem::path root() const { return directory_.path(); }
    [[nodiscard]] target::HeadRoom room(pid_t pid = 7) const {
        return target::HeadRoom::of(pid, root()).value();
    }

  private:
    TemporaryDirectory directory_;
};

/// In a service of its own below a slice with a limit.
class UnifiedTree : public Tree {
  public:
    UnifiedTree() {
        file("proc/self/mountinfo", kUnified);
        file("proc/7/cgroup", "0::/app.slice/node.service\n");
        file("sys/fs/cgroup/app.slice/memory.max", "1073741824\n");
        file("sys/fs/cgroup/app.slice/memory.high", "max\n");
        file("sys/fs/cgroup/app.slice/memory.current", "1006632960\n");  // 960 MiB
        file("sys/fs/cgroup/app.slice/memory.stat", "anon 5\ninactive_file 33554432\n");
        file("sys/fs/cgroup/app.slice/memory.oom.group", "0\n");
        file("sys/fs/cgroup/app.slice/pids.max", "max\n");
        file("sys/fs/cgroup/app.slice/pids.current", "40\n");
        const std::string service = "sys/fs/cgroup/app.slice/node.service/";
        file(service + "memory.max", "max\n");
        file(service + "memory.high", "max\n");
        file(service + "memory.current", "1000\n");
        file(service + "pids.max", "21\n");
        file(service + "pids.current", "20\n");
    }
};

}  // namespace beamdump::test
