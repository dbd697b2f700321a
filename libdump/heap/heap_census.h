#pragma once

#include <libdump/base/first_items.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/heap/term_walk.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace beamdump {

/// The memory area of an object.
enum class HeapArea : std::uint8_t {
    kHeap,
    kOldHeap,
    kFragment,  ///< heap fragments and the fragments of messages
    kLiteral,
    kUnplaced,  ///< heap, old heap or fragment: unknown from a crash dump
};
inline constexpr std::size_t kHeapAreas = 5;

struct ObjectCount {
    std::uint64_t objects = 0;
    std::uint64_t words = 0;  ///< the objects' own, not what they refer to
};

/// A reference-counted binary that a process keeps.
struct KeptBinary {
    std::uint64_t address = 0;
    /// The whole binary's, however little of it a term uses. nullopt: the dump lacks the binary.
    std::optional<std::uint64_t> bytes;
};

/// Counts what the roots of a process reach: each object once over all roots, by area, by kind, by
/// record tag, by map keys; the largest terms; the binaries kept. Memory: one bit for each word
/// of the pages reached, and tables of bounded size.
class HeapCensus final : public WalkObserver {
  public:
    static constexpr std::size_t kMaxTags = 4096;
    static constexpr std::size_t kMaxKeySets = 1024;

    struct Options {
        std::size_t largest = 20;       ///< large terms and binaries kept
        ScratchSpace* space = nullptr;  ///< for the marks; null: in memory
    };
    /// `area_of` names the area of an object's address. Scheme, reader and space must outlive the
    /// census.
    HeapCensus(const TagScheme& scheme, WordReader& reader,
               std::function<HeapArea(std::uint64_t)> area_of, const Options& options);

    /// Sets the root of the next walk. With `list` false its terms are not listed as large terms.
    void set_root(std::uint64_t root, bool list = true);

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) override;
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> path) override;

    [[nodiscard]] bool is_live(std::uint64_t address) const { return live_.has(address); }
    [[nodiscard]] const ObjectCount& in(HeapArea area) const {
        return areas_[static_cast<std::size_t>(area)];
    }
    /// By BoxedKind; cells are counted apart.
    [[nodiscard]] const std::map<BoxedKind, ObjectCount>& kinds() const { return kinds_; }
    [[nodiscard]] const ObjectCount& cells() const { return cells_; }
    /// Tuples by their first element, an atom (its index), and their arity.
    using Tag = std::pair<std::uint32_t, std::uint32_t>;
    [[nodiscard]] const std::map<Tag, ObjectCount>& tags() const { return tags_; }
    [[nodiscard]] const ObjectCount& other_tags() const { return other_tags_; }
    /// Small maps by their keys' words; a key that is not an immediate is the non-value.
    using KeySet = std::vector<std::uint64_t>;
    [[nodiscard]] const std::map<KeySet, ObjectCount>& key_sets() const { return key_sets_; }
    [[nodiscard]] const ObjectCount& other_key_sets() const { return other_key_sets_; }
    /// Largest first. A term of which one part has 90% of the words or more is replaced by that
    /// part.
    [[nodiscard]] std::vector<LargeTerm> largest_terms() const { return largest_.sorted(); }
    /// The terms of the root set last that are among the largest so far; unordered.
    [[nodiscard]] std::vector<LargeTerm> largest_of_root() const { return largest_.of_root(root_); }
    [[nodiscard]] std::vector<KeptBinary> largest_binaries() const {
        return FirstItems(largest_binaries_).take();
    }
    [[nodiscard]] std::uint64_t binaries() const { return binary_count_; }
    /// The sum of the known sizes; and how many sizes are unknown.
    [[nodiscard]] std::uint64_t binary_bytes() const { return binary_bytes_; }
    [[nodiscard]] std::uint64_t unsized_binaries() const { return unsized_binaries_; }

  private:
    [[nodiscard]] Result<void> count(const HeapObject& object);
    void count_tuple(const HeapObject& object);
    void count_map(const HeapObject& object);
    [[nodiscard]] Result<void> count_binary(const HeapObject& object);
    [[nodiscard]] ObjectCount& key_set_of(std::uint64_t keys_word);

    TagScheme scheme_;
    WordReader& reader_;
    std::function<HeapArea(std::uint64_t)> area_of_;
    Options options_;
    std::uint64_t root_ = 0;
    bool list_ = true;
    AddressMarks live_;
    AddressMarks binaries_seen_;
    std::array<ObjectCount, kHeapAreas> areas_{};
    std::map<BoxedKind, ObjectCount> kinds_;
    ObjectCount cells_;
    std::map<Tag, ObjectCount> tags_;
    ObjectCount other_tags_;
    std::map<KeySet, ObjectCount> key_sets_;
    ObjectCount other_key_sets_;
    std::uint64_t last_keys_word_ = 0;
    ObjectCount* last_key_set_ = nullptr;  ///< of last_keys_word_; lives in key_sets_
    LargestTerms largest_;
    FirstItems<KeptBinary> largest_binaries_;
    std::uint64_t binary_count_ = 0;
    std::uint64_t binary_bytes_ = 0;
    std::uint64_t unsized_binaries_ = 0;
};

}  // namespace beamdump
