#pragma once

#include "capture/node/pointer_search.h"
#include "capture/secrets/secret_texts.h"

#include <libdump/write/dump_writer.h>
#include <libvm/beam/allocators/used_blocks.h>
#include <libvm/beam/vm/steady_read.h>
#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::capture {

/// Which blocks are written (--blocks), and how much of each.
struct BlocksWanted {
    std::vector<std::string> allocators = {};  ///< "binary_alloc"; empty: none
    std::uint64_t first_bytes = 0;
    const SecretTexts* secrets = nullptr;  ///< non-owning; that the bytes are searched for
    /// To search for addresses in them: PointerSearch::search()'s. Empty: they are not searched
    /// for.
    std::function<Result<void>()> search_while = {};
    [[nodiscard]] bool has(const std::string& allocator) const;
};

/// Writes the blocks in use of carriers, as pages, and what was read of each allocator, for the
/// SystemMemory record. While the node runs, a carrier whose blocks changed is read again, some
/// times. Memory: of a page.
class BlockCapture {
  public:
    /// Non-owning.
    BlockCapture(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                 records::SystemMemory& system, const beam::Moving& moving,
                 const BlocksWanted& wanted)
        : vm_(vm),
          writer_(writer),
          trailer_(trailer),
          system_(system),
          moving_(moving),
          wanted_(wanted) {}

    /// Of an allocator, if its blocks are asked for. `pointers`: to these blocks; null: they were
    /// not searched for.
    Result<void> write(const std::string& allocator, std::span<beam::CarrierPlace> carriers,
                       const PointerSearch* pointers);

  private:
    Result<void> carrier(beam::UsedBlockReader& reader, beam::CarrierPlace& place,
                         const PointerSearch* pointers, records::BlockSums& sums);
    Result<void> add(records::Block block);
    Result<void> flush();

    beam::Vm& vm_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    records::SystemMemory& system_;
    const beam::Moving& moving_;
    const BlocksWanted& wanted_;
    records::Blocks page_;
    std::uint64_t passes_ = 0;
};

}  // namespace beamdump::capture
