#pragma once

#include <libvm/beam/vm/vm.h>
#include <libvm/target/image/mappings.h>

#include <records.pb.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::capture {

/// What is known of a process beside its mappings.
struct MappingContext {
    std::string_view executable;    ///< the VM's file
    memory::AddressRange literals;  ///< what is reserved for them
};

// Kinds of mappings, as a dump names them (schemas/dump-format.md).
inline constexpr std::string_view kHeapMapping = "heap";
inline constexpr std::string_view kMallocArena = "malloc_arena";
inline constexpr std::string_view kThreadStack = "thread_stack";
inline constexpr std::string_view kJitCode = "jit_code";
inline constexpr std::string_view kLiterals = "literals";
inline constexpr std::string_view kVmFile = "vm_file";
inline constexpr std::string_view kLibrary = "library";
inline constexpr std::string_view kAnonymous = "anonymous";
inline constexpr std::string_view kKernel = "kernel";

/// The kind of each mapping, in their order, by names, permissions and neighbours.
std::vector<std::string_view> mapping_kinds(std::span<const target::Mapping> mappings,
                                            const MappingContext& context);

/// A carrier, or a segment in mseg_alloc's cache.
struct MappedPart {
    memory::AddressRange range;
    std::optional<std::uint32_t> allocator;  ///< nothing: the cache
};

/// Adds the process's mappings to a record, in groups, and where the target says it what of them is
/// resident, in all, in carriers and in the cache. `parts`: ascending; of those that `system` has.
/// Gives a sentence for what could not be read.
std::vector<std::string> add_mapping_groups(beam::Vm& vm, std::span<const MappedPart> parts,
                                            records::SystemMemory& system);

}  // namespace beamdump::capture
