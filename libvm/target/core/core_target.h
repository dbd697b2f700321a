#pragma once

#include <libvm/target/core/core_file.h>
#include <libvm/target/core/core_memory.h>
#include <libvm/target/target.h>

#include <memory>

namespace beamdump::target {

/// A process that has exited, by its ELF core and the executable that it ran.
class CoreTarget final : public Target {
  public:
    /// `executable`: instead of the one at the path that the core names. Errors are CoreFile's and
    /// find_core_image()'s.
    static Result<std::unique_ptr<CoreTarget>> open(
        const std::filesystem::path& core, const std::optional<std::filesystem::path>& executable);

    [[nodiscard]] pid_t pid() const override { return core_.process().pid; }
    [[nodiscard]] const std::string& executable() const override { return executable_; }
    [[nodiscard]] const ElfImage& image() const override { return image_; }
    /// Missing in a core: inodes, and whether a mapping was shared.
    [[nodiscard]] const Mappings& mappings() const override { return mappings_; }
    [[nodiscard]] memory::MemorySource& memory() override { return memory_; }
    [[nodiscard]] memory::PresentPages& pages() override { return memory_; }

    /// Nothing moves in a core.
    Result<void> refresh_mappings() override { return {}; }

    /// From the stack or, if it is not in the core, the first 79 bytes from the notes.
    [[nodiscard]] Result<std::vector<std::string>> arguments() const override { return arguments_; }
    /// From the stack. kAbsent: it is not in the core.
    [[nodiscard]] Result<std::vector<std::string>> environment() const override {
        return environment_;
    }
    /// kAbsent: not in a core.
    [[nodiscard]] Result<std::int64_t> boot_us() const override;
    /// kAbsent: a core does not say.
    [[nodiscard]] Result<std::uint64_t> resident_bytes() const override;
    [[nodiscard]] Result<std::vector<MappingUse>> mapping_use() const override;
    [[nodiscard]] Result<KernelMemory> kernel_memory() const override;
    [[nodiscard]] char state() const override { return 0; }
    [[nodiscard]] bool has_swapped_pages() const override { return false; }
    /// Below root(), if its build id is that of the file's first page in the core; where neither
    /// has one, its segments.
    [[nodiscard]] std::string file_of(const Mapping& mapping) override;
    /// Where the executable was named and is at its path below another root: that root.
    [[nodiscard]] std::string root() const override { return root_; }
    [[nodiscard]] bool alive() const override { return true; }

    /// All threads; the first is the one that crashed, or the main one.
    [[nodiscard]] const std::vector<ThreadRegisters>& threads() const { return core_.threads(); }
    [[nodiscard]] const std::optional<CoreSignal>& signal() const { return core_.signal(); }
    /// A sentence if the core is truncated and memory is missing, else empty.
    [[nodiscard]] const std::string& incomplete() const { return incomplete_; }

  private:
    explicit CoreTarget(CoreFile core) : core_(std::move(core)) {}
    Result<void> add_dumped();
    Result<void> make_mappings();
    void find_arguments();

    CoreFile core_;
    CoreMemory memory_;
    std::string executable_;
    std::string program_;  // the executable's path here
    std::string root_;
    ElfImage image_;
    Mappings mappings_;
    std::vector<std::string> arguments_;
    Result<std::vector<std::string>> environment_;
    std::string incomplete_;
};

}  // namespace beamdump::target
