#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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
    /// Copies bytes from `from` on; gives how many, fewer than asked for only where the dump lacks
    /// the next one or the term ends.
    virtual std::size_t read(std::uint64_t from, std::span<std::uint8_t> into) = 0;
};

enum class ExternalStatus : std::uint8_t {
    kHere,
    kMalformed,  ///< no term: an unknown tag, a number out of bounds, the bytes end too early
    kAbsent,     ///< bytes that the dump lacks
};

/// Bytes by position, through a few small blocks: looking ahead and going on are both cheap. Holds
/// 32 KiB.
class ExternalReader {
  public:
    ExternalReader() : blocks_(kBlocks) {}

    /// Reads from `source` from now on, which must outlive that.
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
    /// Copies bytes; gives how many were there, fewer than asked for at the first that is missing.
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

enum class ExternalKind : std::uint8_t {
    kInteger,  ///< fits a small: value
    kBig,      ///< content: its bytes, lowest first
    kFloat,
    kAtom,
    kReference,
    kFun,
    kExport,
    kPort,
    kPid,
    kTuple,
    kRecord,  ///< native record: its keys, then its values, both in the order they were declared
    kMap,
    kNil,
    kList,    ///< its elements (at least one), then its tail
    kString,  ///< a list of bytes, at least one
    kBinary,  ///< bytes or bits
};

/// An atom: by its place in the atom cache, or by its name.
struct ExternalAtom {
    std::optional<std::uint8_t> cached;
    std::uint64_t at = 0;  ///< of the name's first byte
    std::uint32_t bytes = 0;
    bool latin1 = false;  ///< else UTF-8
};

/// What is at one position: a whole term, or the head of one whose parts follow as terms.
struct ExternalItem {
    ExternalStatus status = ExternalStatus::kMalformed;
    ExternalKind kind = ExternalKind::kNil;
    std::uint64_t at = 0;        ///< of the tag; where a failure was found
    std::uint64_t next = 0;      ///< position behind it: of its first part, if it has any
    std::uint64_t parts = 0;     ///< terms that follow as parts of it
    std::uint64_t count = 0;     ///< elements, pairs, fields, characters, arity, bytes of a binary
                                 ///< or big
    std::uint64_t content = 0;   ///< position of the bytes of a big, string or binary
    std::int64_t value = 0;      ///< integer; index of a fun; 1 for an exported record
    double number = 0;           ///< float
    bool negative = false;       ///< big
    std::uint8_t last_bits = 8;  ///< bits that count of a binary's last byte
    ExternalAtom atom = {};      ///< atom; node of an identifier; module of a fun or record
    ExternalAtom name = {};      ///< of an export's function, of a record
    std::uint64_t creation = 0;
    std::int64_t uniq = 0;                   ///< of a fun: the older, shorter one, as printed
    std::array<std::uint64_t, 5> numbers{};  ///< count of them for a reference; pid: number, serial
};

/// Reads what is at `at`. A list or string without elements is read as what it represents: its
/// tail, the empty list. Checked: everything that is in the item lies inside the term, and each
/// part that it promises has at least a byte left.
ExternalItem read_external_item(ExternalReader& reader, std::uint64_t at);

/// Moves `at` behind the term that is there, or to where that fails: malformed also means a term of
/// more than `budget` items, from which what it took is taken. Needs no memory.
ExternalStatus skip_external(ExternalReader& reader, std::uint64_t& at, std::uint64_t& budget);

}  // namespace beamdump
