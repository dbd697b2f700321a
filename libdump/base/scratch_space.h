#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace beamdump {

/// Space for the tables of one query: memory up to a limit, then temporary files. The files have no
/// name, so none is left behind; the page cache keeps what fits. Not thread-safe.
class ScratchSpace {
  public:
    struct Options {
        std::uint64_t max_memory_bytes = std::uint64_t{1} << 30U;
        std::filesystem::path directory = {};  ///< empty: TMPDIR, or /var/tmp where that is not set
        std::uint64_t max_file_bytes = ~std::uint64_t{0};
    };
    explicit ScratchSpace(Options options);
    ScratchSpace(const ScratchSpace&) = delete;
    ScratchSpace& operator=(const ScratchSpace&) = delete;
    ~ScratchSpace() = default;

    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
    /// In use now, at most max_memory_bytes.
    [[nodiscard]] std::uint64_t memory_bytes() const { return memory_bytes_; }
    [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

  private:
    friend class ScratchBlock;
    [[nodiscard]] bool take_memory(std::uint64_t bytes);
    [[nodiscard]] Result<Descriptor> open_file() const;

    std::uint64_t max_memory_bytes_;
    std::uint64_t max_file_bytes_;
    std::filesystem::path directory_;
    std::uint64_t memory_bytes_ = 0;
    std::uint64_t file_bytes_ = 0;
};

/// A contiguous block of bytes that can grow; new bytes are zeros. In memory until the space's
/// limit is reached, then in a mapped file whose disk space is reserved first, so that a full disk
/// is an error and never a SIGBUS.
class ScratchBlock {
  public:
    /// Non-owning; must outlive the block. Null: always in memory.
    explicit ScratchBlock(ScratchSpace* space = nullptr) : space_(space) {}
    ScratchBlock(ScratchBlock&& other) noexcept;
    ScratchBlock& operator=(ScratchBlock&& other) noexcept;
    ScratchBlock(const ScratchBlock&) = delete;
    ScratchBlock& operator=(const ScratchBlock&) = delete;
    ~ScratchBlock() { release(); }

    /// Makes room for at least `bytes` bytes, which moves the block. Fails, and leaves the block as
    /// it is, without memory or address space and where the directory or a limit has no room for a
    /// file.
    [[nodiscard]] Result<void> grow(std::uint64_t bytes) {
        return bytes <= bytes_ ? Result<void>() : enlarge(bytes);
    }
    /// Frees memory and file.
    void release();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] bool in_file() const { return file_.valid(); }

  private:
    [[nodiscard]] Result<void> enlarge(std::uint64_t bytes);
    /// False: the space's memory is used up.
    [[nodiscard]] Result<bool> grow_in_memory(std::uint64_t bytes);
    [[nodiscard]] Result<void> move_to_file(std::uint64_t bytes);
    [[nodiscard]] Result<void> grow_in_file(std::uint64_t bytes);
    [[nodiscard]] Result<void> reserve(const Descriptor& file, std::uint64_t bytes) const;

    ScratchSpace* space_;
    std::byte* data_ = nullptr;
    std::uint64_t bytes_ = 0;
    Descriptor file_;
};

}  // namespace beamdump
