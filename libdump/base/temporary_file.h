#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace beamdump {

/// TMPDIR, or /var/tmp where that is not set.
std::string temporary_directory();

/// A file without a name in temporary_directory(), deleted when its descriptor is closed.
Result<Descriptor> open_temporary_file();

/// Temporary data that is written once, from its front. Up to kHeldBytes of it stay in memory, so
/// that small data need no room in temporary_directory().
class TemporaryFile {
  public:
    static constexpr std::uint64_t kHeldBytes = std::uint64_t{4} << 20U;

    static Result<TemporaryFile> create();

    /// kNoSpace where the directory is full, kIo.
    Result<void> append(std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t size() const { return bytes_; }
    /// What was written, to be read with its offsets.
    Descriptor take() && { return std::move(file_); }

  private:
    TemporaryFile(Descriptor file, bool in_memory)
        : file_(std::move(file)), in_memory_(in_memory) {}
    Result<void> move_to_directory();

    Descriptor file_;
    bool in_memory_;
    std::uint64_t bytes_ = 0;
};

/// A sink into the file, which must outlive it.
std::unique_ptr<ByteSink> temporary_sink(TemporaryFile& file);

}  // namespace beamdump
