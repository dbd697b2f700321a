#pragma once

#include <libdump/term/heap_object.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <optional>
#include <string>

namespace beamdump::storm {

/// An item of testdata/workloads/storm/storm_items.erl.
struct Item {
    std::uint64_t index = 0;
    std::uint64_t version = 0;
    std::string fault;  ///< empty: all of it is as its index and version say
};

/// The index of an item that is one word; nullopt for any other word, and for a wrong one.
std::optional<std::uint64_t> cell_index(const TagScheme& scheme, std::uint64_t word);

/// Reads items by their own rules, not by what a walk would make of them.
class ItemReader {
  public:
    /// Non-owning. `tag`: the word of the atom `storm`.
    ItemReader(const TagScheme& scheme, WordReader& reader, std::uint64_t tag)
        : scheme_(scheme), reader_(reader), tag_(tag) {}

    /// nullopt if the object is not the tuple of an item.
    std::optional<Item> read(const HeapObject& object);

    /// Words of all objects read as parts of whole items.
    [[nodiscard]] std::uint64_t words() const { return words_; }
    /// Items whose binary has its bytes outside the dump.
    [[nodiscard]] std::uint64_t without_bytes() const { return without_bytes_; }

  private:
    bool is_payload(std::uint64_t word, std::uint64_t index, std::uint64_t seed);
    bool is_small(std::uint64_t word, std::uint64_t value) const;
    bool is_sequence(std::uint64_t word, std::uint64_t first, std::uint64_t count);
    bool is_bytes(std::uint64_t word, std::uint64_t first, std::uint64_t count);
    bool is_nested(std::uint64_t word, std::uint64_t seed);
    bool is_float_list(std::uint64_t word, std::uint64_t seed);
    bool is_large(std::uint64_t word, BoxedKind kind, std::uint64_t seed);
    bool is_map(std::uint64_t word, std::uint64_t seed);
    bool is_fun(std::uint64_t word, std::uint64_t seed);
    /// A tuple of small integers that follow each other.
    bool is_tuple(std::uint64_t word, std::uint64_t first, std::uint64_t count);
    bool pair(std::uint64_t word, std::uint64_t& head, std::uint64_t& tail);
    std::optional<HeapObject> boxed(std::uint64_t word, BoxedKind kind);
    /// Word `number` of an object, 0 if it is not there.
    std::uint64_t word_of(const HeapObject& object, std::uint64_t number);

    const TagScheme& scheme_;
    WordReader& reader_;
    std::uint64_t tag_;
    std::uint64_t words_ = 0;
    std::uint64_t without_bytes_ = 0;
};

}  // namespace beamdump::storm
