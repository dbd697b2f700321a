#pragma once

#include <libdump/base/error.h>
#include <libdump/model/recent_cache.h>
#include <libdump/model/region.h>
#include <libdump/read/dump_reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace beamdump {

/// Words by address over a set of regions, through a bounded cache of blocks (4 MiB at most), so
/// that following pointers is cheap. If regions overlap, the one written last counts.
class RegionMap {
  public:
    enum class Gaps : bool { kNone, kMarked };
    /// Non-owning reader. Byte regions are ignored: they have no terms. `gaps`: whether
    /// format::kLackingWord represents words that are not there.
    RegionMap(DumpReader& reader, std::vector<Region> regions, Gaps gaps = Gaps::kNone);

    /// Copies words from `address` on, as many as `into` takes and the region has here. kAbsent
    /// where a region is known but the word is not in the dump; kUnmapped outside all regions and
    /// in their gaps.
    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into);

    [[nodiscard]] bool covers(std::uint64_t address) const { return find(address) != nullptr; }
    [[nodiscard]] std::uint64_t longest_region_bytes() const { return longest_bytes_; }
    [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }

  private:
    /// Not a vector: its words need not be zeros before they are read.
    struct Block {
        std::unique_ptr<std::uint64_t[]> words;
        std::size_t count = 0;
    };
    [[nodiscard]] const Region* find(std::uint64_t address) const;
    [[nodiscard]] const Region* latest(std::uint64_t address) const;
    [[nodiscard]] std::uint64_t words_until_next(std::uint64_t address) const;
    Result<std::shared_ptr<const Block>> block(const Region& region, std::uint64_t number);

    DumpReader& reader_;
    std::vector<Region> regions_;  // by address
    Gaps gaps_;
    std::uint64_t longest_bytes_ = 0;
    bool overlapping_ = false;
    RecentCache<std::pair<std::uint64_t, std::uint64_t>, Block> blocks_;
};

}  // namespace beamdump
