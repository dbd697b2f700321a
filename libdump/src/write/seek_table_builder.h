#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace beamdump {

/// Collects what the seek table says of each frame of the file, skippable ones too: 12 bytes each.
class SeekTableBuilder {
  public:
    /// kLimit where the seekable format can list no more.
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
    /// Calls take(bytes) for one part of the frame after the other until it gives an error.
    template <typename Take>
    Result<void> for_each_part(const Take& take) const;

    std::deque<Entry> entries_;  // grows without moving what is there
};

}  // namespace beamdump
