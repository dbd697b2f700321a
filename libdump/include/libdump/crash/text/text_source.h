#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace beamdump::crash {

/// The text of a crash dump, byte by byte from anywhere. A compressed dump, and one that comes
/// through a pipe, is unpacked into a temporary file without a name first.
class TextSource {
  public:
    /// Opens a file (plain, or packed with gzip, xz or zstd, told by its first bytes) or a pipe.
    /// Errors: those of opening and reading it, kNoSpace where what is unpacked does not fit,
    /// kCorrupt where nothing of it can be unpacked. A packed file that breaks off is unpacked up
    /// to there: see broken().
    /// `budget`: for what is unpacked; null: no bound.
    static Result<TextSource> open(const std::filesystem::path& path, Budget* budget = nullptr);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// Why the text of a packed file ends before its end; empty where it does not.
    [[nodiscard]] const std::string& broken() const { return broken_; }

    /// That read() gave so far.
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

    /// Copies bytes from `offset` on, as many as there are; gives how many.
    Result<std::size_t> read(std::uint64_t offset, std::span<char> into) const;

  private:
    TextSource(std::string name, Descriptor file, std::uint64_t size)
        : name_(std::move(name)), file_(std::move(file)), size_(size) {}

    std::string name_;
    Descriptor file_;
    std::uint64_t size_ = 0;
    std::string broken_;
    mutable std::uint64_t bytes_read_ = 0;
};

}  // namespace beamdump::crash
