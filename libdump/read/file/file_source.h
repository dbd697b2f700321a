#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace beamdump {

/// A dump's file, read by position. Counts what it reads.
class FileSource {
  public:
    /// Regular files only: a dump is read from both ends.
    static Result<FileSource> open(const std::filesystem::path& path);

    /// The same of a file that is open for reading: this program's own, or one without a name.
    /// `name` is for errors.
    static Result<FileSource> of(Descriptor file, std::string name);

    /// This file for another thread, with a count of its own.
    [[nodiscard]] Result<FileSource> duplicate() const;

    /// Reads all of `into` or fails: kTruncated if the file ends before.
    Result<void> read(std::uint64_t offset, std::span<std::byte> into);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }  ///< bytes, when it was opened
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

  private:
    FileSource(std::string name, Descriptor file, std::uint64_t size)
        : name_(std::move(name)), file_(std::move(file)), size_(size) {}

    std::string name_;
    Descriptor file_;
    std::uint64_t size_ = 0;
    std::uint64_t bytes_read_ = 0;
};

}  // namespace beamdump
