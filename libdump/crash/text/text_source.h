#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/descriptor.h>
#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace beamdump::crash {

struct TextOptions {
    /// For the unpacked text; its stop() also ends reading. Null: no limit.
    Budget* budget = nullptr;
    std::filesystem::path key = {};  ///< file with the private key of an encrypted crash dump
};

/// Random access to the text of a crash dump. A dump that is compressed, encrypted or from a pipe
/// is first unpacked into a temporary file without a name.
class TextSource {
  public:
    /// Opens a file (plain, or compressed with gzip, xz or zstd, and encrypted by the VM;
    /// recognized by its first bytes) or a pipe. Errors: those of opening and reading it, kNoSpace
    /// if the unpacked text does not fit, kCorrupt if nothing can be unpacked, kUnsupported without
    /// the key of an encrypted one. A truncated file is unpacked as far as possible: see broken().
    static Result<TextSource> open(const std::filesystem::path& path,
                                   const TextOptions& options = {});

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// Why a file could not be unpacked or decrypted to its end; empty if it could.
    [[nodiscard]] const std::string& broken() const { return broken_; }

    /// Which file it is and when it was changed last, to recognize it again.
    struct Identity {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::uint64_t bytes = 0;
        std::int64_t modified_ns = 0;  ///< since 1970: st_mtim
        std::int64_t changed_ns = 0;   ///< st_ctim
        bool operator==(const Identity&) const = default;
    };
    /// As it is now; nothing for an unpacked text, and if the system does not tell.
    [[nodiscard]] std::optional<Identity> identity() const;

    /// Bytes returned by read() so far.
    [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

    /// Copies bytes from `offset` on; gives how many, fewer than asked for only at the end.
    Result<std::size_t> read(std::uint64_t offset, std::span<char> into) const;

  private:
    TextSource(std::string name, Descriptor file, std::uint64_t size, const TextOptions& options)
        : name_(std::move(name)),
          file_(std::move(file)),
          size_(size),
          stop_(options.budget == nullptr ? std::stop_token() : options.budget->stop()) {}

    std::string name_;
    Descriptor file_;
    std::uint64_t size_ = 0;
    bool unpacked_ = false;
    std::string broken_;
    std::stop_token stop_;
    mutable std::uint64_t bytes_read_ = 0;
};

}  // namespace beamdump::crash
