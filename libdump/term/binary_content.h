#pragma once

#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump {

/// The bytes of a binary term, wherever they are stored. A sub binary may start inside a byte;
/// octets() shifts.
class BinaryContent {
  public:
    enum class Status : std::uint8_t {
        kFound,
        kMalformed,  ///< the words contradict each other or are unmapped
        kAbsent,     ///< the object's words are not in the dump
    };

    /// Resolves a binary or bit string of any kind by the address of its header; for a match
    /// context, the rest to match. Checked: sizes against the headers and, if known, against the
    /// Binary's size.
    static Status resolve(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                          BinaryContent& content);

    [[nodiscard]] std::uint64_t whole_bytes() const { return size_; }
    /// Bits after the whole bytes, 0 to 7.
    [[nodiscard]] unsigned trailing_bits() const { return bit_size_; }
    /// Bits of the first byte that come before the content, 0 to 7.
    [[nodiscard]] unsigned bit_offset() const { return bit_offset_; }
    /// Address of the Binary that holds the content; 0: it lies on the heap.
    [[nodiscard]] std::uint64_t binary() const { return on_heap_ ? 0 : store_; }
    /// Where content on the heap begins: the address of its first byte.
    [[nodiscard]] std::uint64_t heap_address() const { return store_ + first_; }
    /// Where content in a Binary begins: the byte of it. Where the dump lacks the
    /// Binary, it is not known what an offset counts from.
    [[nodiscard]] std::uint64_t first_byte() const { return first_; }
    /// Leading whole bytes that are in the dump.
    [[nodiscard]] std::uint64_t captured_bytes() const;
    /// Whether every byte and bit is in the dump.
    [[nodiscard]] bool is_whole() const { return available_ >= stored_bytes(); }
    /// Whether the dump has all bytes that the capture was to copy: see BinaryInfo::as_asked.
    [[nodiscard]] bool is_as_asked() const { return is_whole() || as_asked_; }

    /// Copies whole bytes from byte `from` on; gives how many, fewer than asked for at the end of
    /// what is captured.
    std::size_t octets(WordReader& reader, std::uint64_t from, std::span<std::uint8_t> into) const;

    /// The value of the trailing bits; call only if is_whole().
    [[nodiscard]] unsigned trailing_value(WordReader& reader) const;

  private:
    [[nodiscard]] std::uint64_t stored_bytes() const;
    std::size_t stored(WordReader& reader, std::uint64_t from, std::span<std::uint8_t> into) const;
    static Status resolve_rest(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                               BinaryContent& content);
    static Status resolve_stored(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                                 std::uint64_t& size, BinaryContent& content);
    static Status resolve_stored_in(const TagScheme& scheme, WordReader& reader,
                                    std::uint64_t address, BinaryContent& content);
    static Status resolve_refc(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                               BinaryContent& content);
    static Status resolve_bits(const TagScheme& scheme, WordReader& reader, std::uint64_t address,
                               std::uint64_t header, BinaryContent& content);
    static Status resolve_original(const TagScheme& scheme, WordReader& reader, std::uint64_t word,
                                   std::uint64_t base_and_flags, BinaryContent& content);
    static Status locate(WordReader& reader, std::uint64_t binary, std::uint64_t bytes,
                         BinaryContent& content);

    std::uint64_t size_ = 0;
    unsigned bit_offset_ = 0;
    unsigned bit_size_ = 0;
    bool on_heap_ = true;
    std::uint64_t store_ = 0;      ///< address of the bytes, or of the Binary
    std::uint64_t first_ = 0;      ///< byte in the store that this content begins in
    std::uint64_t available_ = 0;  ///< stored bytes from first_ on that are in the dump
    bool as_asked_ = false;
};

}  // namespace beamdump
