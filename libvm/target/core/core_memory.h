#pragma once

#include <libdump/base/descriptor.h>
#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <string>
#include <vector>

namespace beamdump::target {

/// The memory of a process that has exited, from files: its core, and its executable and libraries
/// for what the core lacks. Read on demand; nothing is mapped or cached.
class CoreMemory final : public memory::MemorySource, public memory::PresentPages {
  public:
    /// Takes over a file; returns its number for add().
    std::size_t add_file(Descriptor file, std::string name);
    /// `range` is in a file from `offset` on. What was added before stays where both are.
    void add(memory::AddressRange range, std::size_t file, std::uint64_t offset);
    /// The sentence for missing memory: "the core was cut off: ...".
    void explain_missing(std::string reason) { missing_ = std::move(reason); }

    /// kUnmapped: it is in none of the files. kIo.
    Result<std::size_t> read_some(memory::Address address, std::span<std::byte> into) override;
    [[nodiscard]] memory::MemoryStats stats() const override { return stats_; }

    /// Pages of zeros count as absent: cores have never written pages as zeros, whether they were
    /// reserved, used or not readable. Reads all of the range.
    Result<std::vector<memory::AddressRange>> present(memory::AddressRange range) override;

    /// The parts of a range that are in no file so far, ascending.
    [[nodiscard]] std::vector<memory::AddressRange> gaps(memory::AddressRange range) const;

  private:
    struct Part {
        memory::AddressRange range;
        std::size_t file = 0;
        std::uint64_t offset = 0;  // of range.begin
    };
    struct File {
        Descriptor descriptor;
        std::string name;
    };
    [[nodiscard]] std::size_t first_ending_after(memory::Address address) const;
    Result<std::size_t> read_part(const Part& part, memory::Address address,
                                  std::span<std::byte> into) const;

    std::vector<Part> parts_;  // ascending, none overlaps another
    std::vector<File> files_;
    std::string missing_;
    memory::MemoryStats stats_;
};

}  // namespace beamdump::target
