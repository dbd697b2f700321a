#pragma once

#include <libdump/model/dump.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::query {

/// The memory of a node's allocators and of its operating-system process, as a capture or a crash
/// dump has it. What it does not say is absent.
struct NodeMemory {
    std::vector<records::AllocatorInstance> allocators;
    records::SystemMemory system;
    /// erlang:memory/0's, in its order.
    std::vector<std::pair<std::string, std::uint64_t>> categories;
};

/// Reads the records of a capture, or the sections `allocator` of a crash dump's text.
Result<NodeMemory> node_memory(Dump& dump);

/// erlang:memory/0's categories alone: one record, or none of a crash dump.
Result<std::vector<std::pair<std::string, std::uint64_t>>> memory_categories(Dump& dump);

/// The instances that lines of `=allocator:NAME[INDEX]` sections (erts_allocator_info(),
/// erl_alloc.c, OTP 17 to 29) describe, line by line; also mseg_alloc's and erts_mmap's.
class AllocatorSections {
  public:
    void begin(std::string_view argument);
    void line(std::string_view name, std::string_view value);
    /// What was said.
    void finish(NodeMemory& memory);

  private:
    enum class Subject : std::uint8_t { kNone, kAllocator, kSegments, kMapper };
    void allocator_line(std::string_view name, std::string_view value);

    Subject subject_ = Subject::kNone;
    std::vector<records::AllocatorInstance> instances_;
    std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of allocators, as they come
    std::optional<std::uint64_t> cached_segments_;
    std::optional<std::uint64_t> os_bytes_;
};

}  // namespace beamdump::query
