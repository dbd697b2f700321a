#pragma once

#include <libdump/base/error.h>
#include <libdump/model/recent_cache.h>
#include <libdump/read/dump_reader.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace beamdump {

/// A reference-counted binary's record; keeps the pack that contains it in memory.
using BinaryRecord = std::shared_ptr<const records::Binary>;

/// Bytes of the binary's content that are in the dump, from the first on.
std::uint64_t captured_bytes(const records::Binary& binary);

/// Bytes of the parts behind these that are in the dump.
std::uint64_t captured_part_bytes(const records::Binary& binary);

/// Reference-counted binaries by the address of their Binary structure: through the index pages of
/// the whole dump, or in the packs of one process. 64 pages and 16 packs stay in memory.
class BinaryIndex {
  public:
    /// Non-owning: must outlive the index.
    explicit BinaryIndex(DumpReader& reader);

    /// kAbsent if the dump has no such binary. If an address was reused, the last one written
    /// before flat offset `end` (that of the end of the run that refers to it).
    Result<BinaryRecord> at(std::uint64_t address,
                            std::uint64_t end = std::numeric_limits<std::uint64_t>::max());

    /// Whether the dump has a binary at that address.
    Result<bool> contains(std::uint64_t address);

    /// The binary if it is in the Binaries record at that flat offset, else null.
    Result<BinaryRecord> in_pack(std::uint64_t offset, std::uint64_t address);

    /// Copies content from byte `from` on, of the first bytes or of a part; gives how many bytes
    /// were captured there.
    Result<std::size_t> bytes(const records::Binary& binary, std::uint64_t from,
                              std::span<std::byte> into);

  private:
    using Page = records::BinaryIndexPage;
    /// A Binaries record and its entries' places by address.
    struct Pack {
        records::Binaries record;
        std::vector<int> by_address;
    };
    Result<std::vector<std::uint64_t>> places(std::uint64_t address);
    Result<std::shared_ptr<const Page>> page(std::uint64_t offset);
    Result<std::shared_ptr<const Pack>> pack(std::uint64_t offset);

    DumpReader& reader_;
    RecentCache<std::uint64_t, Page> pages_;
    RecentCache<std::uint64_t, Pack> packs_;
};

}  // namespace beamdump
