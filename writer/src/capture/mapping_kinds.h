#pragma once

#include <libvm/target/image/mappings.h>

#include <span>
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

}  // namespace beamdump::capture
