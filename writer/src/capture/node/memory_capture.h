#pragma once

#include "capture/node/block_capture.h"

#include <libdump/write/dump_writer.h>
#include <libvm/beam/allocators/blocks.h>
#include <libvm/beam/allocators/carriers.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/vm/steady_read.h>

#include <optional>
#include <span>
#include <vector>

namespace beamdump::capture {

/// Bytes that are copied, about, to read the free blocks of a node's carriers: some 15 ms at most.
inline constexpr std::uint64_t kFreeBlockBytes = std::uint64_t{32} << 20U;
/// Bytes that are copied for it while the node is stopped: some 1 ms.
inline constexpr std::uint64_t kFreeBlockBytesInAStop = std::uint64_t{2} << 20U;

/// Writes carriers with what they count, and reads the free blocks of those with several blocks: of
/// all, or of as many as the limit allows, spread over all of them.
class CarrierCapture {
  public:
    /// Non-owning.
    CarrierCapture(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                   records::SystemMemory& system, const beam::Moving& moving);

    /// Before the first write(): about how many bytes may be copied to read the free blocks of all
    /// these carriers, which are by allocator.
    void limit(std::uint64_t bytes, const std::vector<std::vector<beam::CarrierPlace>>& carriers);

    /// The carriers of an allocator, in pages, and its free blocks. Memory: of a page.
    Result<void> write(std::span<beam::CarrierPlace> carriers);

  private:
    /// Whether the share allows to read the free blocks of the next carrier, which is counted.
    bool allows(const beam::CarrierPlace& carrier);
    /// Nothing where its free blocks could not be read; `sums` has why.
    std::optional<beam::FreeBlocks> free_blocks(beam::CarrierPlace& carrier,
                                                records::FreeBlocks& sums);

    beam::Vm& vm_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    records::SystemMemory& system_;
    const beam::Moving& moving_;
    beam::FreeBlockReader reader_;
    double share_ = 1;    // of what is to be copied
    double allowed_ = 0;  // bytes that may be copied before the next carrier's
};

/// Writes what says where the node's memory is: the Allocator, Carriers and SystemMemory records.
/// What could not be found or read is absent, and a warning in the trailer says so; it fails where
/// writing does. `atoms`: of all atoms. While the node is `moving`, lists that contradict
/// themselves are read again. `free_block_bytes`: to copy for free blocks, about.
/// `blocks`: also these, as Blocks records.
Result<void> write_memory(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                          const beam::AtomSpace& atoms, const beam::Moving& moving,
                          std::uint64_t free_block_bytes, const BlocksWanted& blocks);

}  // namespace beamdump::capture
