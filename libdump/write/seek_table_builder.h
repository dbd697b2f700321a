#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace beamdump {

/// Collects the seek table's entries for all frames of the file, skippable ones too: 12 bytes each.
class SeekTableBuilder {
  public:
    /// kLimit if the seekable format allows no more entries.
    Result<void> add(std::uint32_t compressed_bytes, std::uint32_t content_bytes,
                     std::uint32_t checksum);

    [[nodiscard]] std::uint64_t frame_bytes() const;  ///< of the whole skippable frame
    [[nodiscard]] std::uint64_t checksum() const;     ///< XXH64 of the whole skippable frame
    Result<void> write(ByteSink& sink) const;

  private:
    struct Entry {
        std::uint32_t compressed_bytes;
        std::uint32_t content_bytes;
        std::uint32_t checksum;
    };
    /// Calls take(bytes) for each part of the frame in order until it fails.
    template <typename Take>
    Result<void> for_each_part(const Take& take) const;

    std::deque<Entry> entries_;  // grows without moving what is there
};

}  // namespace beamdump
