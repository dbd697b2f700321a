#pragma once

#include <libdump/model/process_context.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace beamdump::storm {

/// Holds all words of the process's regions in memory: a map of 500,000 items leads through its
/// heap in no order, and each of its words would take a frame to decompress.
class HeldContext final : public ProcessContext {
  public:
    HeldContext(Dump& dump, const ProcessRun& run);

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;
    Result<BinaryInfo> binary_at(std::uint64_t address) override;
    Result<std::size_t> binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                     std::span<std::byte> into) override;

  private:
    struct Held {
        std::uint64_t begin = 0, end = 0;  // addresses
        std::unique_ptr<std::uint64_t[]> words;
    };
    struct HeldBinary {
        BinaryInfo info;
        std::string bytes;
    };
    const HeldBinary* held_binary(std::uint64_t address);
    void hold_regions(const ProcessRun& run);
    void hold_binaries();

    std::uint64_t end_offset_;  // of the run
    std::vector<Held> held_;    // by address
    /// Of the dump; read when the first is asked for.
    std::optional<std::unordered_map<std::uint64_t, HeldBinary>> binaries_;
};

}  // namespace beamdump::storm
