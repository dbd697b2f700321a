#pragma once

#include "support/fake_memory.h"

#include <libvm/target/target.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::test {

/// A process that exists in a test only: its memory is a FakeMemory, its executable an ElfImage of
/// a file that the test wrote. Non-owning: `memory` must outlive it.
class FakeTarget final : public target::Target {
  public:
    /// Facts of a process besides its memory.
    struct About {
        std::vector<std::string> arguments;
        std::vector<std::string> environment;
        bool swapped = false;  ///< some of its pages are not present
        /// Whole pages that are mapped but not present, of one mapping, not its first or last ones.
        std::optional<memory::AddressRange> absent;
        bool alive = true;
        /// None: unknown, as in a core.
        std::optional<std::vector<target::MappingUse>> mapping_use;
        target::KernelMemory kernel_memory;
        char state = 0;
    };

    FakeTarget(FakeMemory& memory, target::ElfImage image, target::Mappings mappings,
               std::vector<memory::AddressRange> present, const About& about)
        : memory_(memory),
          image_(std::move(image)),
          mappings_(std::move(mappings)),
          pages_(std::move(present)),
          about_(about) {}

    [[nodiscard]] pid_t pid() const override { return kPid; }
    [[nodiscard]] const std::string& executable() const override { return executable_; }
    [[nodiscard]] const target::ElfImage& image() const override { return image_; }
    [[nodiscard]] const target::Mappings& mappings() const override { return mappings_; }
    [[nodiscard]] memory::MemorySource& memory() override { return memory_; }
    [[nodiscard]] memory::PresentPages& pages() override { return pages_; }
    Result<void> refresh_mappings() override { return {}; }
    [[nodiscard]] Result<std::vector<std::string>> arguments() const override {
        return about_.arguments;
    }
    [[nodiscard]] Result<std::vector<std::string>> environment() const override {
        return about_.environment;
    }
    [[nodiscard]] Result<std::int64_t> boot_us() const override { return kBootUs; }
    [[nodiscard]] Result<std::uint64_t> resident_bytes() const override { return kResidentBytes; }
    [[nodiscard]] Result<std::vector<target::MappingUse>> mapping_use() const override {
        return about_.mapping_use ? Result<std::vector<target::MappingUse>>(*about_.mapping_use)
                                  : fail(ErrorCode::kUnsupported, "nothing says it");
    }
    [[nodiscard]] Result<target::KernelMemory> kernel_memory() const override {
        return about_.kernel_memory;
    }
    [[nodiscard]] char state() const override { return about_.state; }
    [[nodiscard]] bool has_swapped_pages() const override { return about_.swapped; }
    [[nodiscard]] std::string file_of(const target::Mapping& /*mapping*/) override { return {}; }
    [[nodiscard]] std::string root() const override { return {}; }
    [[nodiscard]] bool alive() const override { return about_.alive; }

    static constexpr std::uint64_t kResidentBytes = 64U << 20U;
    static constexpr std::int64_t kBootUs = 1'700'000'000'000'000;

  private:
    /// Above the kernel's limit, so that no process has it.
    static constexpr pid_t kPid = 0x7fff0000;

    FakeMemory& memory_;
    std::string executable_ = "/fake/beam.smp";
    target::ElfImage image_;
    target::Mappings mappings_;
    FakePages pages_;
    const About& about_;
};

}  // namespace beamdump::test
