#pragma once

#include "memory/memory_source.h"
#include "memory/present_pages.h"
#include "target/elf_image.h"
#include "target/mappings.h"
#include "target/proc_directory.h"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace beamdump::target {

/// A running operating-system process that holds an Erlang VM: who it is and how to read it.
/// Opening it stops nothing and changes nothing in it.
class LiveTarget {
  public:
    /// kNotFound: no such process. kNotABeam: something else (the sentence says what it is).
    /// kPermission: which of ptrace_scope, user, capability or dumpability forbids it, and what to
    /// do. The VM's image is found in the mappings, so a VM started through ld.so is found too.
    static Result<LiveTarget> open(pid_t pid);

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const std::string& executable() const { return executable_; }
    [[nodiscard]] const ElfImage& image() const { return image_; }
    [[nodiscard]] const Mappings& mappings() const { return mappings_; }
    [[nodiscard]] memory::MemorySource& memory() { return *memory_; }
    [[nodiscard]] memory::PresentPages& pages() { return *pages_; }

    /// Reads /proc/PID/maps again: the node may have mapped more since.
    Result<void> refresh_mappings();

    [[nodiscard]] Result<std::vector<std::string>> arguments() const;
    [[nodiscard]] Result<std::int64_t> boot_us() const;  ///< wall clock, since the epoch
    [[nodiscard]] Result<std::uint64_t> resident_bytes() const;
    /// Whether any of its memory is swapped out. Unknown counts as yes: then pages are looked at
    /// one by one before they are read.
    [[nodiscard]] bool has_swapped_pages() const;
    /// Whether it still runs; false for a zombie.
    [[nodiscard]] bool alive() const;

  private:
    LiveTarget() = default;
    pid_t pid_ = 0;
    ProcDirectory process_;
    std::string executable_;
    ElfImage image_;
    Mappings mappings_;
    std::unique_ptr<memory::MemorySource> memory_;
    std::unique_ptr<memory::PresentPages> pages_;
};

}  // namespace beamdump::target
