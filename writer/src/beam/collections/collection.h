#pragma once

#include "beam/allocators/heap_blocks.h"
#include "beam/collections/collection_fields.h"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::beam {

/// Where the words are of a process that stands in the middle of a collection (erl_gc.c,
/// do_minor(), minor_collection(), major_collection(); OTP 25 to 29).
struct CollectionSpaces {
    Span stack;
    /// Every object in use has been copied: the new block is whole, up to its top.
    bool whole = false;
    /// Else heap, abandoned heap and old heap, and the fragments' words: an object there may have
    /// been copied.
    std::vector<Span> from, fragments;
    /// The old heap, where its objects stay.
    Span old_heap;
    /// The unused part of the old heap, to which objects are copied, and the new block.
    Span promoted, block;
    /// The highest address in each of these two to which a root leads; 0: none does.
    Address highest_promoted = 0, highest_in_block = 0;
};

/// Finds the spaces of a collection in memory that stands still.
class CollectionReader {
  public:
    static Result<CollectionReader> open(Vm& vm);

    /// `process` was decoded from `structure`. `fragments` gives its heap fragments and those of
    /// messages received. kChanged: the collection is where its words cannot be followed: blocks
    /// are being freed, moved or renamed, or it runs where its roots are not known. A moment later
    /// it is elsewhere.
    using Fragments = std::function<Result<std::vector<Span>>()>;
    Result<CollectionSpaces> read(const StructView& structure, const ProcessView& process,
                                  const Fragments& fragments);

  private:
    CollectionReader(Vm& vm, LayoutNames& names) : vm_(&vm), f_(names) {}
    class Roots;
    Result<CollectionSpaces> stack_moved(const StructView& structure, HeapBlocks& blocks);
    Result<CollectionSpaces> swept(const StructView& structure, HeapBlocks& blocks);
    Result<CollectionSpaces> moving(const StructView& structure, const ProcessView& process,
                                    const Fragments& fragments, HeapBlocks& blocks);
    Result<Address> stack_end(Address stop, Address block_end);

    Vm* vm_;
    CollectionFields f_;
    std::uint64_t running_sys_ = 0, dirty_running_sys_ = 0;
};

/// Notes the copies to which words of the collected spaces lead.
class MovedObjects {
  public:
    explicit MovedObjects(const CollectionSpaces& spaces)
        : targets_{Target{spaces.promoted, spaces.highest_promoted, {}},
                   Target{spaces.block, spaces.highest_in_block, {}}} {}

    /// Words of a collected space, in ascending order.
    void look(Address begin, std::span<const std::byte> bytes);

    /// What has been copied completely, and to where: an object's copy, unless it is the last one
    /// and more than a cell. kChanged: a root leads behind the last copy that was met.
    Result<void> finish(Vm& vm, records::Collection& into) const;

  private:
    struct Last {
        Address original = 0;
        Address copy = 0;
        bool is_cell = false;
    };
    struct Target {
        Span room;
        Address highest_root = 0;
        std::optional<Last> last;
    };
    void note(Address original, std::uint64_t word, bool is_cell);

    std::array<Target, 2> targets_;
    Address next_ = 0;  // behind the words seen last
    std::uint64_t previous_ = 0;
};

}  // namespace beamdump::beam
