#pragma once

#include "query/diff/diff_source.h"
#include "query/heap/heap.h"

#include <span>

namespace beamdump::query {

/// Lines of each list of a report that is compared; with as many, more may have been left out.
inline constexpr std::uint64_t kHeapLines = 1000;

/// A section of what is compared of a process: its things in one report.
struct HeapSection {
    SectionKind kind;
    void (*add)(const HeapReport& report, std::size_t dump, ThingTable& table) = nullptr;
};

std::span<const HeapSection> heap_sections();

}  // namespace beamdump::query
