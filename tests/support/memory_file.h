#pragma once

#include <libdump/base/descriptor.h>

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace beamdump::test {

/// A file that has a path but is on no disk.
class MemoryFile {
  public:
    explicit MemoryFile(std::span<const std::byte> bytes)
        : file_(::memfd_create("beamdump-test", MFD_CLOEXEC)) {
        write(0, bytes);
    }

    [[nodiscard]] std::filesystem::path path() const {
        return fmt::format("/proc/self/fd/{}", file_.get());
    }

    void write(std::size_t offset, std::span<const std::byte> bytes) const {
        if (::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
            static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error("cannot write to a memory file");
        }
    }

    void resize(std::size_t bytes) const {
        if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
            throw std::runtime_error("cannot resize a memory file");
        }
    }

  private:
    Descriptor file_;
};

}  // namespace beamdump::test
