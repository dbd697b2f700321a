#pragma once

#include <libdump/base/error.h>
#include <libdump/heap/address_marks.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <span>
#include <vector>

namespace beamdump {

/// Where a walk stands: one level for each object between the root and the place. A list is one
/// level, however long.
struct WalkLevel {
    enum class Kind : std::uint8_t {
        kTuple,
        kList,  ///< slot: the cell's address; index: elements begun, or kTail
        kFlatMap,
        kHashMap,  ///< head or inner node of a large map
        kPair,     ///< a cell in a large map's node: key and value
        kFun,
        kRecord,  ///< native record: its definition, then its values
        kKept,    ///< a sub binary or match context, which keeps another object
    };
    static constexpr std::uint64_t kTail = ~std::uint64_t{0};

    std::uint64_t address = 0;
    std::uint64_t slot = 0;   ///< address of the slot being examined
    std::uint64_t left = 0;   ///< slots still to be examined
    std::uint64_t index = 0;  ///< the slot being examined: 0, 1, ... by the object's own order
    std::uint64_t words = 0;  ///< copy words first reached here, so far
    std::uint64_t largest_part = 0;  ///< the words of the largest object that it refers to, so far
    Kind kind = Kind::kTuple;
    bool counted = true;  ///< its words count towards the term's size
    bool mark = false;    ///< the observer's own, from enter() on
};

/// Told what a walk meets, in depth-first order. An error ends the walk with it.
class WalkObserver {
  public:
    WalkObserver() = default;
    WalkObserver(const WalkObserver&) = delete;
    WalkObserver& operator=(const WalkObserver&) = delete;
    virtual ~WalkObserver() = default;

    struct Entered {
        bool go_on = true;       ///< look at what it refers to
        bool mark = false;       ///< for its level
        bool uncounted = false;  ///< leave its own words out
        /// Of a list's later cell: the rest of the list is a level of its own.
        bool own_level = false;
    };
    /// An object, for the first time; every cell of a list by itself. `path` ends with the level
    /// that refers to it; of a list's later cells, with the list's own.
    [[nodiscard]] virtual Result<Entered> enter(const HeapObject& object,
                                                std::span<const WalkLevel> path) = 0;
    /// An object that was entered before. `path` ends with the level that refers to it.
    [[nodiscard]] virtual Result<void> again(std::uint64_t address, std::span<WalkLevel> path) = 0;
    /// All that was first reached through the last level of `path` has been told. What its `words`
    /// say afterwards is added to the level before.
    [[nodiscard]] virtual Result<void> leave(std::span<WalkLevel> path) = 0;
};

/// Walks terms in depth-first order, each object once between two clear() of its marks. Memory: the
/// marks, and 64 bytes a level of nesting. Nothing recurses; a torn heap that leads back into
/// itself ends at the marks.
class TermWalk {
  public:
    enum class Measure : std::uint8_t {
        kCopy,  ///< copy_words; what sub binaries and match contexts keep is left out
        kHeap,  ///< the objects' words as they lie
    };
    /// All must outlive the walk; a null space keeps the walk's own marks in memory.
    TermWalk(const TagScheme& scheme, WordReader& reader, AddressMarks& marks,
             Measure measure = Measure::kCopy, ScratchSpace* space = nullptr)
        : scheme_(scheme),
          reader_(reader),
          marks_(marks),
          measure_(measure),
          kept_only_(space),
          counted_after_all_(space) {}

    struct Outcome {
        /// Of all objects entered, by the walk's measure.
        std::uint64_t words = 0;
        std::uint64_t unreadable = 0;  ///< words that lead to no object here
        bool shared = false;           ///< an object of the term was met again
    };
    /// Fails where the observer or the scratch space does.
    [[nodiscard]] Result<Outcome> walk(std::uint64_t root, WalkObserver& observer);

  private:
    [[nodiscard]] Result<void> visit(std::uint64_t word, WalkObserver& observer, bool counted,
                                     bool in_hash_map);
    void push(const HeapObject& object, std::uint64_t words, bool counted, bool mark,
              bool in_hash_map);
    [[nodiscard]] std::uint64_t words_of(const HeapObject& object) const {
        return measure_ == Measure::kCopy ? object.copy_words : object.words;
    }
    [[nodiscard]] Result<void> visit_again(std::uint64_t word, WalkObserver& observer,
                                           bool counted);
    void add_words(std::uint64_t words);
    /// Looks at the top level's next slot; false when it has none left.
    [[nodiscard]] Result<bool> step(WalkObserver& observer);
    [[nodiscard]] Result<bool> step_list(WalkObserver& observer);
    [[nodiscard]] Result<void> step_tail(std::uint64_t tail, WalkObserver& observer);

    const TagScheme& scheme_;
    WordReader& reader_;
    AddressMarks& marks_;
    Measure measure_;
    AddressMarks kept_only_;  ///< met only as what a sub binary or match context keeps
    AddressMarks counted_after_all_;
    std::vector<WalkLevel> levels_;
    Outcome outcome_;
};

}  // namespace beamdump
