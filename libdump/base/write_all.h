#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump {

/// The outcome of a write: bytes written, and errno or 0.
struct WriteOutcome {
    std::uint64_t written = 0;
    int error_number = 0;
};

/// write(2) until all is written, through interruptions and short writes.
WriteOutcome write_all(int descriptor, std::span<const std::byte> bytes);

/// Whether an errno value means that the disk, the quota or the file size limit is exhausted.
bool is_no_space(int error_number);

}  // namespace beamdump
