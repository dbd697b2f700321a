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

/// Words that make no object where one should begin.
struct UnreadableStretch {
    std::uint64_t address = 0;
    std::uint64_t words = 0;
    bool absent = false;  ///< they are not in the dump
};

/// Calls `object` for each object of a block in address order, as a collector sweeps: a word that
/// is a header begins a boxed object, any other begins a cell. After words that make no object the
/// next one that does is searched, and `unreadable` is notified of what was skipped. An error of
/// `object` ends the scan with it.
[[nodiscard]] Result<void> scan_block(
    const TagScheme& scheme, WordReader& reader, const HeapBlock& block,
    const std::function<Result<void>(const HeapObject&)>& object,
    const std::function<void(const UnreadableStretch&)>& unreadable);

/// Finds the objects that no other object of the blocks refers to: top-level terms, whether a root
/// leads to them or they are dead. Add all blocks, then ask. Memory: 3 bits for each word of the
/// pages scanned. Its functions fail where the scratch space does.
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

    /// Notes what the objects of a block refer to.
    [[nodiscard]] Result<void> add(const HeapBlock& block);

    struct Term {
        std::uint64_t word = 0;
        std::uint64_t address = 0;
        bool dead = false;
        /// First reached through it, in the order of the calls; through a dead term, dead ones
        /// only.
        std::uint64_t words = 0;
    };
    /// Tells the terms of a block in address order. A circle in a torn heap has no top.
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
