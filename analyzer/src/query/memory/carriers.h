#pragma once

#include "query/rows/row_list.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// Free blocks of from_bytes and more, and of less than twice as much.
struct FreeBlockClass {
    std::uint64_t from_bytes = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

/// Free blocks in carriers of several blocks, and of how many of these carriers they are.
struct FreeBlockSums {
    std::uint64_t carriers = 0;  ///< of several blocks, all
    std::uint64_t carrier_bytes = 0;
    std::uint64_t read_carriers = 0;  ///< whose free blocks these are
    std::uint64_t read_carrier_bytes = 0;
    std::uint64_t changed_carriers = 0;     ///< left out: they changed while they were read
    std::uint64_t unreadable_carriers = 0;  ///< left out: parts were not in memory
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> largest_bytes;  ///< nothing: there are none
    std::vector<FreeBlockClass> sizes;           ///< ascending; those of which there are any
};

/// By allocator, where the dump has them.
using AllocatorNames = std::map<std::uint32_t, std::string>;

/// The share of `whole` that is used, in tenths of a percent; nothing of nothing.
std::optional<std::uint64_t> utilisation(std::uint64_t used, std::uint64_t whole);

/// Sums over the allocators that are named; nothing where the dump says nothing of them.
std::optional<FreeBlockSums> free_block_sums(const records::SystemMemory& system,
                                             const AllocatorNames& names);

/// A carrier, in bytes; block headers are part of blocks.
struct CarrierLine {
    std::string allocator;
    std::uint32_t instance = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool single_block = false;
    bool pooled = false;
    bool mseg = false;
    std::uint64_t blocks = 0;
    std::uint64_t block_bytes = 0;
    std::optional<std::uint64_t> free_blocks;  ///< nothing: not looked at
    std::optional<std::uint64_t> largest_free_bytes;

    [[nodiscard]] std::uint64_t free_bytes() const {
        return bytes > block_bytes ? bytes - block_bytes : 0;
    }
};

/// The columns of list_carriers().
std::span<const Column> carrier_columns();
inline constexpr std::string_view kCarrierSort = "bytes,address";
inline constexpr std::string_view kShownCarrierColumns =
    "address,allocator_instance,bytes,blocks,block_bytes,utilisation,free_blocks,"
    "largest_free_bytes,kind";

/// The carriers of the allocators that are named, as rows; `visit` is told the allocator of each
/// that passes. kNotFound: the dump has no carriers.
Result<RowList> list_carriers(Dump& dump, const AllocatorNames& names, const RowQuery& query,
                              const std::function<void(std::uint32_t allocator)>& visit);

}  // namespace beamdump::query
