#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace beamdump {

/// Where a dump's bytes go, in order. Not thread-safe.
class ByteSink {
  public:
    ByteSink() = default;
    ByteSink(const ByteSink&) = delete;
    ByteSink& operator=(const ByteSink&) = delete;
    virtual ~ByteSink() = default;

    /// Writes all of `bytes` or fails (kNoSpace, kClosedPipe, kIo).
    virtual Result<void> write(std::span<const std::byte> bytes) = 0;

    /// Completes the output: flushes it to disk and gives a file its name.
    virtual Result<void> commit() = 0;
};

/// What happens to the pages of a written file in the page cache, which count as this process's.
enum class WrittenPages {
    kStay,
    kDropped,  ///< they go to the disk as they are written: at most 2 MiB stay, and none of a whole
               ///< file
    kDroppedOnDisk,  ///< the same; in a file system that is in memory they stay
};

/// What becomes of a file's first part when the rest could not be written.
enum class PartialFile {
    kKept,     ///< it can be opened, as a truncated dump can
    kRemoved,  ///< it is of no use
};

struct FileSinkOptions {
    bool force = false;  ///< replace what is there
    WrittenPages pages = WrittenPages::kStay;
    PartialFile partial = PartialFile::kKept;
};

/// A file that is called `path`.partial until commit() renames it. Mode 0600. Fails with kExists
/// when `path` is there and may not be replaced; a leftover .partial is replaced. With kDropped
/// kUnsupported where the file system is in memory (tmpfs).
Result<std::unique_ptr<ByteSink>> open_file_sink(const std::filesystem::path& path,
                                                 FileSinkOptions options);

/// Whether a file sink could be opened as far as is known without making a file: what is at the
/// path, and whether its directory is there and takes new files. Errors as open_file_sink().
Result<void> check_file_sink(const std::filesystem::path& path, bool force);

/// Non-owning: an open descriptor (standard output, a pipe). A closed reader is kClosedPipe, for
/// which the program must ignore SIGPIPE.
std::unique_ptr<ByteSink> descriptor_sink(int descriptor);

/// A sink into a temporary file that takes its bytes from `budget`, which must outlive it.
std::unique_ptr<ByteSink> budgeted_sink(std::unique_ptr<ByteSink> sink, Budget& budget);

}  // namespace beamdump
