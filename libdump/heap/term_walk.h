#pragma once

#include <libdump/base/error.h>
#include <libdump/heap/address_marks.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace beamdump {

/// The position of a walk: one level for each object between the root and the slot being examined.
/// A list is one level, however long.
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
    bool mark = false;    ///< for the observer, from enter() on
};

/// Called for the objects of a walk in depth-first order. An error ends the walk.
class WalkObserver {
  public:
    WalkObserver() = default;
    WalkObserver(const WalkObserver&) = delete;
    WalkObserver& operator=(const WalkObserver&) = delete;
    virtual ~WalkObserver() = default;

    struct Entered {
        bool go_on = true;       ///< walk what it refers to
        bool mark = false;       ///< for its level
        bool uncounted = false;  ///< do not count its own words
        /// For a later cell of a list: make the rest of the list a level of its own.
        bool own_level = false;
    };
    /// The first visit of an object or of a list's cell. `path` ends with the level that refers to
    /// it; for a list's later cells, with the list's own.
    [[nodiscard]] virtual Result<Entered> enter(const HeapObject& object,
                                                std::span<const WalkLevel> path) = 0;
    /// An object that was entered before. `path` ends with the level that refers to it.
    [[nodiscard]] virtual Result<void> again(std::uint64_t address, std::span<WalkLevel> path) = 0;
    /// The end of the last level of `path`, after all that was first reached through it. Its
    /// `words`, which the observer may change, are added to the level before.
    [[nodiscard]] virtual Result<void> leave(std::span<WalkLevel> path) = 0;
    /// Whether immediate() is to be called.
    [[nodiscard]] virtual bool wants_immediates() const { return false; }
    /// A word that is a whole term. `path` ends with the level that holds it.
    [[nodiscard]] virtual Result<void> immediate(std::uint64_t /*word*/,
                                                 std::span<const WalkLevel> /*path*/) {
        return {};
    }
};

/// Walks terms in depth-first order, each object once between two clear() of its marks. Memory: the
/// marks, and 64 bytes a level of nesting. Nothing recurses; a torn heap that leads back into
/// itself ends at the marks.
class TermWalk {
  public:
    enum class Measure : std::uint8_t {
        kCopy,  ///< copy_words, without what sub binaries and match contexts keep
        kHeap,  ///< the objects' words on the heap
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
        /// Words of all objects entered, by the walk's measure.
        std::uint64_t words = 0;
        std::uint64_t unreadable = 0;  ///< words that lead to no object here
        bool shared = false;           ///< an object of the term was met again
        /// Words of objects that were met first through what keeps them and counted when met again.
        std::uint64_t words_after_all = 0;
    };
    /// How often each object was met again where it counts.
    using TimesMetAgain = std::unordered_map<std::uint64_t, std::uint64_t>;
    /// Adds to `times`, which must outlive the walk, from now on.
    void count_met_again(TimesMetAgain& times) { times_ = &times; }

    /// Fails if the observer or the scratch space does.
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
    /// Examines the top level's next slot; false if none is left.
    [[nodiscard]] Result<bool> step(WalkObserver& observer);
    [[nodiscard]] Result<bool> step_list(WalkObserver& observer);
    [[nodiscard]] Result<void> step_tail(std::uint64_t tail, WalkObserver& observer);

    const TagScheme& scheme_;
    WordReader& reader_;
    AddressMarks& marks_;
    Measure measure_;
    AddressMarks kept_only_;  ///< reached only through a sub binary or match context
    AddressMarks counted_after_all_;
    std::vector<WalkLevel> levels_;
    Outcome outcome_;
    bool immediates_ = false;
    TimesMetAgain* times_ = nullptr;
};

}  // namespace beamdump
