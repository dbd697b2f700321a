#pragma once

#include <cstddef>
#include <cstdint>

namespace beamdump::limits {

// Sizes of records. Records are read whole: small ones save readers work, large ones are fewer. No
// reader relies on these limits.

/// A reference-counted binary or an undecoded message of more bytes is in a region of its own.
inline constexpr std::uint64_t kInlineBytes = 32U << 10U;
/// Packs of messages, of small regions and of binaries end with the entry that passes this.
inline constexpr std::size_t kPackBytes = 96U << 10U;
inline constexpr int kPackEntries = 4096;
/// Approximate overhead of a pack's entry.
inline constexpr std::size_t kEntryBytes = 64;

inline constexpr std::size_t kDirectoryReferences = 1024;
inline constexpr std::size_t kRelationsOfAPage = 1024;

inline constexpr std::uint32_t kAtomsOfAPage = 2048;
inline constexpr std::size_t kAtomTextOfAPage = 64U << 10U;
inline constexpr int kModulesOfAPage = 2048;
inline constexpr std::uint32_t kFunctionsOfAPage = 4096;
inline constexpr std::uint32_t kLinesOfAPage = 8192;
inline constexpr std::uint32_t kExportsOfAPage = 2048;
/// The most funs, nodes, catches or code points of a record.
inline constexpr std::size_t kEntriesOfAPage = 1024;
inline constexpr std::size_t kEtsTablesOfAPage = 512;
inline constexpr std::size_t kBinariesOfAnIndexPage = 8192;
/// A page of allocators' instances ends with the one that passes this.
inline constexpr std::size_t kAllocatorsOfAPageBytes = 32U << 10U;
inline constexpr int kCarriersOfAPage = 1024;
inline constexpr int kBlocksOfAPage = 1024;
/// A page of readings ends with the one that passes this.
inline constexpr std::size_t kHistoryOfAPageBytes = 16U << 10U;

}  // namespace beamdump::limits
