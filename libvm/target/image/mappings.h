#pragma once

#include <libvm/memory/present_pages.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::target {

/// One line of /proc/PID/maps.
struct Mapping {
    memory::AddressRange range;
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    std::uint64_t file_offset = 0;
    std::uint64_t inode = 0;
    std::string path;  ///< as the kernel prints it; empty for anonymous memory
};

/// All of a target's mappings, ascending.
class Mappings {
  public:
    static Result<Mappings> parse(std::string_view text);
    /// Sorts them. kImplausible: one overlaps another.
    static Result<Mappings> of(std::vector<Mapping> mappings);

    [[nodiscard]] const std::vector<Mapping>& all() const { return all_; }
    /// The mapping that holds `address`, or null.
    [[nodiscard]] const Mapping* find(memory::Address address) const;
    /// A file's lowest mapping, or null. `path`: as Mapping has it.
    [[nodiscard]] const Mapping* first_of(std::string_view path) const;
    /// Whether the whole range lies in readable mappings without a gap.
    [[nodiscard]] bool readable(memory::AddressRange range) const;

  private:
    std::vector<Mapping> all_;
};

/// A mapping and how much of it is in memory. A page that a process maps twice counts in both
/// mappings.
struct MappingUse {
    Mapping mapping;
    std::uint64_t resident_bytes = 0;
    std::uint64_t swapped_bytes = 0;
};

}  // namespace beamdump::target
