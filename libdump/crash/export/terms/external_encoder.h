#pragma once

#include <libdump/crash/export/terms/node_facts.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_context.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::crash {

/// Terms in external format, as term_to_binary/1 makes them (external.c, OTP 25.2.3, 27.3.4 and
/// 29.1.1): used in crash dumps for terms without a form of their own (references, funs, native
/// records). The terms of a fun's environment are written as [], as the VM does
/// (erl_process_dump.c, dump_externally()).
class ExternalEncoder {
  public:
    /// Limits of bytes and levels of nesting; larger terms are not encoded.
    static constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
    static constexpr unsigned kMaxLevels = 1200;

    /// All must outlive the encoder; `printer` is used for its texts of identifiers.
    ExternalEncoder(WordReader& reader, const TagScheme& scheme, const NodeFacts& node,
                    TermPrinter& printer)
        : reader_(reader), scheme_(scheme), node_(node), printer_(printer) {}

    /// The term with its version byte, valid until the next call. nullopt if a part of it is not in
    /// the dump or invalid, or if it is too large.
    std::optional<std::span<const std::uint8_t>> encode(std::uint64_t word);
    /// An atom with its version byte, as encode() gives it.
    std::optional<std::span<const std::uint8_t>> encode_atom(std::uint64_t index);

  private:
    bool term(std::uint64_t word, unsigned level);
    bool boxed(std::uint64_t word, unsigned level);
    bool list(std::uint64_t word, unsigned level);
    bool elements(const HeapObject& object, unsigned level);
    bool flat_map(const HeapObject& object, unsigned level);
    bool hash_map(const HeapObject& object, unsigned level);
    bool hash_items(const HeapObject& object, unsigned level);
    bool fun(const HeapObject& object);
    bool creator(std::uint64_t word);
    bool identifier(std::uint64_t word, const HeapObject* external);
    bool binary(const HeapObject& object);
    bool record(const HeapObject& object, unsigned level);
    bool atom(std::uint64_t index);
    bool atom_word(std::uint64_t word);
    void atom_text(std::string_view name);
    void integer(std::int64_t value);
    bool big(const HeapObject& object);
    void put(std::uint64_t value, unsigned bytes);
    bool room();
    bool read(std::uint64_t address, std::uint64_t& word) {
        return reader_.read(address, word) == WordStatus::kHere;
    }

    WordReader& reader_;
    const TagScheme& scheme_;
    const NodeFacts& node_;
    TermPrinter& printer_;
    std::vector<std::uint8_t> bytes_;
};

}  // namespace beamdump::crash
