#pragma once

#include "query/process/opened_process.h"
#include "query/process/process_details.h"

#include <cstdint>
#include <functional>

namespace beamdump::query {

/// As process_info(binary): the reference-counted binaries that the process's heap and fragments
/// refer to, one entry a reference. All are counted, the first `limit` (0: all) are looked up.
Result<Excerpt<ReferencedBinary>> process_binaries(Dump& dump, OpenedProcess& process,
                                                   std::uint64_t limit);

/// Where reference-counted binaries of a process are listed.
enum class OffHeapLists : std::uint8_t {
    kProcessInfo,  ///< those of the heap and its fragments
    kAll,          ///< also of the fragments of messages
    kWithMagic,    ///< also magic ones, as NIF resources are, which references refer to
};

/// Tells each entry of the lists of off-heap things that refers to a binary: its address and the
/// binary's. Dead ones too, until a collection. A crash dump has no such lists.
Result<void> visit_off_heap_binaries(
    Dump& dump, OpenedProcess& process, OffHeapLists lists,
    const std::function<void(std::uint64_t object, std::uint64_t binary)>& visit);

}  // namespace beamdump::query
