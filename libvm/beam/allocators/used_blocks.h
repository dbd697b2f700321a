#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/allocators/blocks.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/id_table.h>

#include <records.pb.h>

#include <array>
#include <functional>
#include <optional>

namespace beamdump::beam {

/// Reads the blocks in use of carriers: who asked for them, by their tags (erl_alloc_util.c,
/// set_alloc_tag(): a word in OTP 25, two from 27 on), and what they begin with; in binary_alloc
/// that is a Binary (erl_binary.h).
class UsedBlockReader {
  public:
    /// More of a block's first bytes are not read.
    static constexpr std::size_t kMostFirstBytes = 32;

    /// `first_bytes`: of each block, or of the contents of a Binary, that are kept.
    static Result<UsedBlockReader> open(Vm& vm, std::uint64_t first_bytes);

    /// Hands over the blocks of a carrier, as FreeBlockReader::read() does.
    Result<void> read(CarrierPlace& carrier,
                      const std::function<Result<void>(records::Block block)>& visit);

  private:
    UsedBlockReader(Vm& vm, PidWords pids, const BinaryFields& binary, std::uint64_t binary_number)
        : reader_(vm), pids_(pids), binary_(binary), binary_number_(binary_number) {}
    Result<records::Block> block_of(const UsedBlock& block, bool is_binary);
    Result<void> tag(const UsedBlock& block, records::Block& record);

    FreeBlockReader reader_;
    PidWords pids_;
    BinaryFields binary_;
    std::uint64_t binary_number_;  ///< of binary_alloc
    TagScheme scheme_;
    std::uint64_t port_tag_ = 0;
    std::size_t first_bytes_ = 0;
    std::size_t tag_words_ = 0;
};

}  // namespace beamdump::beam
