#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>
#include <libvm/target/image/elf_image.h>
#include <libvm/target/image/mappings.h>
#include <libvm/target/process/head_room.h>

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace beamdump::target {

/// A process's memory as a whole.
struct KernelMemory {
    /// The part of its resident bytes that was given back (MADV_FREE), and is still there as nobody
    /// has needed it.
    std::optional<std::uint64_t> lazy_free_bytes;
    std::vector<CgroupMemory> cgroups;  ///< from its own up
};

/// An operating-system process that holds an Erlang VM, running or not: who it is, what it maps and
/// its memory.
class Target {
  public:
    Target() = default;
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    virtual ~Target() = default;

    [[nodiscard]] virtual pid_t pid() const = 0;
    [[nodiscard]] virtual const std::string& executable() const = 0;
    [[nodiscard]] virtual const ElfImage& image() const = 0;
    [[nodiscard]] virtual const Mappings& mappings() const = 0;
    [[nodiscard]] virtual memory::MemorySource& memory() = 0;
    [[nodiscard]] virtual memory::PresentPages& pages() = 0;

    /// Looks again what is mapped: a node that runs may have mapped more since.
    virtual Result<void> refresh_mappings() = 0;

    [[nodiscard]] virtual Result<std::vector<std::string>> arguments() const = 0;
    /// The variables that it was started with, NAME=VALUE. It may have set others since.
    [[nodiscard]] virtual Result<std::vector<std::string>> environment() const = 0;
    [[nodiscard]] virtual Result<std::int64_t> boot_us()
        const = 0;  ///< wall clock, since the epoch
    [[nodiscard]] virtual Result<std::uint64_t> resident_bytes() const = 0;
    /// How much of each mapping is in memory: kUnsupported where nothing says so, as in a core.
    [[nodiscard]] virtual Result<std::vector<MappingUse>> mapping_use() const = 0;
    /// What the kernel says of its memory as a whole: kUnsupported as above.
    [[nodiscard]] virtual Result<KernelMemory> kernel_memory() const = 0;
    /// Its letter of /proc/PID/stat when the target was opened: T where a signal has stopped it; 0
    /// of a core.
    [[nodiscard]] virtual char state() const = 0;
    /// Whether any of its memory is out of reach without bringing it back (swapped out). Unknown
    /// counts as yes: then pages are examined one by one before they are read.
    [[nodiscard]] virtual bool has_swapped_pages() const = 0;
    /// A path of ours, valid as long as the target is, to the file of a mapping: of the file's
    /// first one. Empty: it is not here, or another build is.
    [[nodiscard]] virtual std::string file_of(const Mapping& mapping) = 0;
    /// Where its files are on this machine, for their debug files: "/proc/4242/root"; empty: here.
    [[nodiscard]] virtual std::string root() const = 0;
    /// Whether its memory can still be read: false once the process has ended.
    [[nodiscard]] virtual bool alive() const = 0;

    /// A folder of this machine with debug files of its files, as debug_file_paths() names them;
    /// empty: none but the system's.
    [[nodiscard]] const std::filesystem::path& debug_folder() const { return debug_folder_; }
    void set_debug_folder(std::filesystem::path folder) { debug_folder_ = std::move(folder); }

  private:
    std::filesystem::path debug_folder_;
};

}  // namespace beamdump::target
