#pragma once

#include <libdump/model/process_context.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace beamdump::storm {

/// Holds all words of the process's regions in memory: a map of 500,000 items leads through its
/// heap in no order, and each of its words would take a frame to decompress.
class HeldContext final : public ProcessContext {
  public:
    HeldContext(Dump& dump, const ProcessRun& run);

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override;

  private:
    struct Held {
        std::uint64_t begin = 0, end = 0;  // addresses
        std::unique_ptr<std::uint64_t[]> words;
    };
    std::vector<Held> held_;  // by address
};

}  // namespace beamdump::storm
