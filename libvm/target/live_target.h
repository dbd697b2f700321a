#pragma once

#include <libvm/memory/switched_memory.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/target.h>

#include <memory>

namespace beamdump::target {

/// A running process. Opening it stops nothing and changes nothing in it.
class LiveTarget final : public Target {
  public:
    /// kNotFound: no such process. kNotABeam: another program, named in the sentence. kPermission:
    /// which of ptrace_scope, user, capability or dumpability forbids it, and what to do. The VM's
    /// image is found in the mappings, so a VM started through ld.so is found too.
    static Result<std::unique_ptr<LiveTarget>> open(pid_t pid);

    [[nodiscard]] pid_t pid() const override { return process_.pid(); }
    [[nodiscard]] const std::string& executable() const override { return executable_; }
    [[nodiscard]] const ElfImage& image() const override { return image_; }
    [[nodiscard]] const Mappings& mappings() const override { return mappings_; }
    [[nodiscard]] memory::MemorySource& memory() override { return *memory_; }
    [[nodiscard]] memory::PresentPages& pages() override { return *memory_; }

    /// Reads /proc/PID/maps again, the twin's while one is read.
    Result<void> refresh_mappings() override;

    [[nodiscard]] Result<std::vector<std::string>> arguments() const override;
    [[nodiscard]] Result<std::vector<std::string>> environment() const override;
    [[nodiscard]] Result<std::int64_t> boot_us() const override;
    [[nodiscard]] Result<std::uint64_t> resident_bytes() const override;
    /// That of the process itself, also while its twin is read.
    [[nodiscard]] Result<std::vector<MappingUse>> mapping_use() const override;
    [[nodiscard]] Result<KernelMemory> kernel_memory() const override;
    [[nodiscard]] char state() const override { return state_; }
    [[nodiscard]] bool has_swapped_pages() const override;
    [[nodiscard]] std::string file_of(const Mapping& mapping) override;
    [[nodiscard]] std::string root() const override;
    /// False for a zombie.
    [[nodiscard]] bool alive() const override;

    /// Switches memory() and pages() to `twin`, a copy of this process.
    Result<void> read_twin(pid_t twin);
    /// Switches back to the process itself, if a twin is read.
    void read_itself();

  private:
    LiveTarget() = default;
    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view file) const;

    ProcDirectory process_;
    std::string executable_;
    char state_ = 0;
    ElfImage image_;
    Mappings mappings_;
    std::unique_ptr<memory::SwitchedMemory> memory_;
    ProcDirectory twin_;                                // while one is read
    std::unique_ptr<memory::MemorySource> own_memory_;  // while a twin is read
    std::unique_ptr<memory::PresentPages> own_pages_;
};

}  // namespace beamdump::target
