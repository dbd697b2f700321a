#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace beamdump {

/// The bytes of a term in external format (erts/emulator/beam/external.h, OTP 29.1.1: what
/// term_to_binary/1 makes and nodes send each other), wherever they are kept.
class ExternalSource {
  public:
    ExternalSource() = default;
    ExternalSource(const ExternalSource&) = delete;
    ExternalSource& operator=(const ExternalSource&) = delete;
    virtual ~ExternalSource() = default;

    /// Bytes of the whole term.
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    /// Copies bytes from `from` on; returns how many, fewer than asked for only at the end or at a
    /// byte that the dump lacks.
    virtual std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) = 0;
};

/// A term's bytes in memory, which must outlive it.
class ExternalBytes final : public ExternalSource {
  public:
    explicit ExternalBytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
    std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) override {
        const auto rest = bytes_.subspan(std::min<std::uint64_t>(from, bytes_.size()));
        const auto part = rest.first(std::min(rest.size(), into.size()));
        std::ranges::copy(part, into.begin());
        return part.size();
    }

  private:
    std::span<const std::uint8_t> bytes_;
};

enum class ExternalStatus : std::uint8_t {
    kHere,
    kMalformed,  ///< invalid: an unknown tag, a number out of bounds, or too few bytes
    kAbsent,     ///< bytes that the dump lacks
};

/// Bytes by position through a cache of a few small blocks, so that looking ahead is cheap. Memory:
/// 32 KiB.
class ExternalReader {
  public:
    ExternalReader() : blocks_(kBlocks) {}

    /// Switches to `source`, which must stay until the next open().
    void open(ExternalSource& source);

    [[nodiscard]] std::uint64_t size() const { return size_; }

    ExternalStatus byte(std::uint64_t at, std::uint8_t& value) {
        const Block& block = blocks_[(at / kBlockBytes) % kBlocks];
        if (at >= block.begin && at < block.end) {
            value = block.bytes[at - block.begin];
            return ExternalStatus::kHere;
        }
        return byte_miss(at, value);
    }
    /// A big-endian number of 1 to 8 bytes.
    ExternalStatus number(std::uint64_t at, unsigned bytes, std::uint64_t& value);
    /// Copies bytes; returns how many, up to the first missing one.
    std::size_t copy(std::uint64_t at, std::span<std::uint8_t> into);

  private:
    static constexpr std::size_t kBlockBytes = 4096;
    static constexpr std::size_t kBlocks = 8;
    struct Block {
        std::uint64_t begin = 0;  ///< positions held: [begin, end)
        std::uint64_t end = 0;
        std::array<std::uint8_t, kBlockBytes> bytes{};
    };
    ExternalStatus byte_miss(std::uint64_t at, std::uint8_t& value);

    ExternalSource* source_ = nullptr;  ///< non-owning
    std::uint64_t size_ = 0;
    std::vector<Block> blocks_;
};

}  // namespace beamdump
