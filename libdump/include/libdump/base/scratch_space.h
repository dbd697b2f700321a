#pragma once

#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>

namespace beamdump {

/// Room for the tables of one question: a number of bytes of memory, and beyond it files in a
/// directory for temporary ones. The files have no name, so nothing of them stays behind; the
/// kernel keeps as much of them in memory as it has to spare. Not thread-safe.
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
    /// Held at the moment, at most max_memory_bytes.
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

/// No memory, or no temporary file, for a ScratchBlock. Code that made the ScratchSpace catches it.
class ScratchError final : public std::exception {
  public:
    explicit ScratchError(Error error) : error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const { return error_; }
    [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

  private:
    Error error_;
};

/// Bytes that stand together and can grow; zeros at first. In memory, until the space's share of it
/// is used up: then in a file of its own, room for which is reserved first, so that a full disk is
/// an error and never a signal.
class ScratchBlock {
  public:
    /// Non-owning; must outlive the block. Null: always in memory.
    explicit ScratchBlock(ScratchSpace* space = nullptr) : space_(space) {}
    ScratchBlock(ScratchBlock&& other) noexcept;
    ScratchBlock& operator=(ScratchBlock&& other) noexcept;
    ScratchBlock(const ScratchBlock&) = delete;
    ScratchBlock& operator=(const ScratchBlock&) = delete;
    ~ScratchBlock() { release(); }

    /// Makes room for at least so many bytes. Moves them. Throws ScratchError.
    void grow(std::uint64_t bytes);
    /// Gives everything back.
    void release();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] bool in_file() const { return file_.valid(); }

  private:
    [[nodiscard]] bool grow_in_memory(std::uint64_t bytes);
    void move_to_file(std::uint64_t bytes);
    void grow_in_file(std::uint64_t bytes);
    void reserve(const Descriptor& file, std::uint64_t bytes) const;

    ScratchSpace* space_;
    std::byte* data_ = nullptr;
    std::uint64_t bytes_ = 0;
    Descriptor file_;
};

}  // namespace beamdump
