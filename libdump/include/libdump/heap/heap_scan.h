#pragma once

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
};

/// Calls `object` for each object of a block in address order, as a collector sweeps: a word that
/// is a header begins a boxed object, any other begins a cell. After words that make no object the
/// next one that does is searched, and `unreadable` told of what was passed over.
void scan_block(const TagScheme& scheme, WordReader& reader, const HeapBlock& block,
                const std::function<void(const HeapObject&)>& object,
                const std::function<void(const UnreadableStretch&)>& unreadable);

/// Finds the objects that no other object of the blocks refers to: top-level terms, whether a root
/// leads to them or they are dead. Add all blocks, then ask. Memory: 2 bits for each word of the
/// pages scanned.
class TopLevelTerms {
  public:
    /// Both must outlive the object.
    TopLevelTerms(const TagScheme& scheme, WordReader& reader)
        : scheme_(scheme), reader_(reader), walk_(scheme, reader, reached_) {}

    /// Notes what the objects of a block refer to.
    void add(const HeapBlock& block);

    struct Term {
        std::uint64_t word = 0;
        std::uint64_t address = 0;
        /// Copy words first reached through it, in the order of the calls.
        std::uint64_t words = 0;
    };
    /// Tells the terms of a block in address order. A circle in a torn heap has no top.
    void visit(const HeapBlock& block, const std::function<void(const Term&)>& term,
               const std::function<void(const UnreadableStretch&)>& unreadable);

  private:
    const TagScheme& scheme_;
    WordReader& reader_;
    AddressMarks referred_;
    AddressMarks reached_;
    TermWalk walk_;
};

}  // namespace beamdump
