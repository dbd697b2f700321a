#pragma once

#include <libdump/base/error.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/term_walk.h>

#include <cstdint>
#include <functional>

namespace beamdump {

/// A block of the heap that objects fill from its start: [begin, end), addresses.
struct HeapBlock {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Words that are not the beginning of a valid object.
struct UnreadableStretch {
    std::uint64_t address = 0;
    std::uint64_t words = 0;
    bool absent = false;  ///< they are not in the dump
};

/// Calls `object` for each object of a block in address order, as a collector sweeps: a header
/// begins a boxed object, any other word a cell. Invalid words are skipped up to the next valid
/// object and reported to `unreadable`. An error of `object` ends the scan.
[[nodiscard]] Result<void> scan_block(
    const TagScheme& scheme, WordReader& reader, const HeapBlock& block,
    const std::function<Result<void>(const HeapObject&)>& object,
    const std::function<void(const UnreadableStretch&)>& unreadable);

/// Finds top-level terms, live or dead: objects that no other object of the blocks refers to. Add
/// all blocks before the first visit. Memory: 3 bits for each word of the pages scanned. The
/// functions fail if the scratch space does.
class TopLevelTerms {
  public:
    /// Whether a root leads to the object at an address.
    using IsLive = std::function<bool(std::uint64_t)>;
    /// All must outlive the object; a null space keeps the marks in memory.
    TopLevelTerms(const TagScheme& scheme, WordReader& reader, IsLive is_live,
                  ScratchSpace* space = nullptr)
        : scheme_(scheme),
          reader_(reader),
          referred_(space),
          is_live_(std::move(is_live)),
          live_(space),
          dead_(space),
          live_walk_(scheme, reader, live_, TermWalk::Measure::kHeap, space),
          dead_walk_(scheme, reader, dead_, TermWalk::Measure::kHeap, space) {}

    /// Marks what the objects of a block refer to.
    [[nodiscard]] Result<void> add(const HeapBlock& block);

    struct Term {
        std::uint64_t word = 0;
        std::uint64_t address = 0;
        bool dead = false;
        /// Words of the objects first reached through it, in the order of the calls; for a dead
        /// term, dead objects only.
        std::uint64_t words = 0;
    };
    /// Visits the top-level terms of a block in address order. A cycle in a torn heap has none.
    [[nodiscard]] Result<void> visit(
        const HeapBlock& block, const std::function<void(const Term&)>& term,
        const std::function<void(const UnreadableStretch&)>& unreadable);

  private:
    const TagScheme& scheme_;
    WordReader& reader_;
    AddressMarks referred_;
    IsLive is_live_;
    AddressMarks live_;
    AddressMarks dead_;
    TermWalk live_walk_;
    TermWalk dead_walk_;
};

}  // namespace beamdump
