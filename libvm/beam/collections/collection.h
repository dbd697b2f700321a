#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/allocators/blocks.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/messages.h>
#include <libvm/beam/processes/process.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::beam {

/// The fields of Process by which a collection's progress is told (erl_gc.c, OTP 25 to 29).
struct CollectionFields {
    explicit CollectionFields(LayoutNames& names);

    /// The whole abandoned heap block; empty if there is none.
    [[nodiscard]] Span abandoned(const StructView& structure) const;
    /// Whether the heap's fields agree about its size: hibernation changes them one by one, and
    /// meanwhile offsets all pointers.
    [[nodiscard]] bool heap_is_consistent(const StructView& structure) const;
    /// Whether the stack has not been moved to a new block.
    [[nodiscard]] bool stack_is_in_place(const StructView& structure) const;
    /// Whether the high-water mark is not yet that of a new block.
    [[nodiscard]] bool mark_is_in_place(const StructView& structure) const;

    /// Whether a fullsweep has no old heap any more, or may have none. It is freed before a field
    /// names the new block (erl_gc.c, full_sweep_heaps()), in a hibernation long before: what was
    /// moved out of it is then not known. It has one, apart from literals, if there was a minor
    /// collection since the last fullsweep.
    [[nodiscard]] bool old_heap_may_be_freed(const StructView& structure) const;

    Field heap, htop, hend, stop, high_water, heap_sz, abandoned_heap, old_heap, old_htop, old_hend,
        state, flags, gen_gcs;
    std::uint32_t bytes;
};

/// The heap fragments whose objects a collection moves: a process's own, and those of messages that
/// it has received (erl_gc.c, young_gen_usage(), OTP 25 to 29).
class CollectedFragments {
  public:
    static Result<CollectedFragments> open(Vm& vm);

    /// Whether the process has any. `structure` is its Process.
    [[nodiscard]] bool any(const StructView& structure) const;

    /// The used words of each. kChanged: there are more than `most`.
    Result<std::vector<Span>> read(const StructView& structure, std::size_t most);

    /// Calls `visit` with the terms' words of the messages in the process's queues, `most` at most.
    Result<void> each_message(const ProcessView& process, std::uint64_t most,
                              const std::function<Result<void>(std::uint64_t)>& visit);

  private:
    CollectedFragments(FragmentReader fragments, MessageWalker messages, LayoutNames& names)
        : fragments_(fragments),
          messages_(std::move(messages)),
          own_(names.field(runtime::Process::mbuf)),
          received_(names.field(runtime::Process::msg_frag)) {}

    FragmentReader fragments_;
    MessageWalker messages_;
    Field own_, received_;
};

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

    /// `process` was decoded from `structure`. `own_call`: the process's own code has called for
    /// the collection, with so many words on its stack, and arguments that are not known are left
    /// out (YieldState::apply_to_collection()). kChanged: the collection is where its words cannot
    /// be followed: blocks are being freed, moved or renamed, or it runs where its roots are not
    /// known. A moment later it is elsewhere.
    Result<CollectionSpaces> read(const StructView& structure, const ProcessView& process,
                                  std::optional<std::uint32_t> own_call = {});

  private:
    CollectionReader(Vm& vm, CollectedFragments fragments, LayoutNames& names)
        : vm_(&vm), fragments_(std::move(fragments)), f_(names) {}
    class Roots;
    Result<CollectionSpaces> follow(const StructView& structure, const ProcessView& process);
    Result<CollectionSpaces> stack_moved(const StructView& structure, HeapBlocks& blocks);
    Result<CollectionSpaces> swept(const StructView& structure, HeapBlocks& blocks);
    Result<CollectionSpaces> moving(const StructView& structure, const ProcessView& process,
                                    HeapBlocks& blocks);
    Result<Address> stack_end(Address stop, Address block_end);

    Vm* vm_;
    CollectedFragments fragments_;
    CollectionFields f_;
    std::uint64_t running_sys_ = 0, dirty_running_sys_ = 0;
};

/// Where roots lead in a process that was captured in the middle of a collection. Those that are
/// captured as regions need not be resolved: their reader follows copies.
class RootResolver {
  public:
    RootResolver(Vm& vm, const records::Collection& collection);

    /// The word that leads to the object's copy if that is complete, else to the original.
    Result<std::uint64_t> resolved(std::uint64_t word);

  private:
    Vm* vm_;
    std::vector<Span> from_, targets_;  // ascending
    std::map<Address, Address> last_;   // from a copy that may be incomplete to its original
};

/// How terms are coded in that node.
Result<TagScheme> term_scheme_of(Vm& vm);

/// Whether a boxed object's first words are those of its original, which leads to it: a pointer may
/// have been replaced by one to a copy. False if either cannot be read.
bool is_copy_of(memory::MemorySource& memory, const TagScheme& scheme, Address original,
                Address copy);

/// Finds the copies to which words of the collected spaces lead.
class MovedObjects {
  public:
    static Result<MovedObjects> open(Vm& vm, const CollectionSpaces& spaces);

    /// Words of a collected space, in ascending order.
    void look(Address begin, std::span<const std::byte> bytes);

    /// What has been copied completely, and to where: an object's copy, unless it is the last one
    /// and more than a cell. Words of data that look like the address of a copy are told from one
    /// by what is there. kChanged: a root leads behind the last copy that was met, or the last copy
    /// cannot be told.
    Result<void> finish(records::Collection& into);

  private:
    struct Moved {
        Address original = 0;
        Address copy = 0;
        bool is_cell = false;
    };
    struct Target {
        Span room;
        Address highest_root = 0;
        std::optional<Moved> last;   // the highest of those that are copies
        std::vector<Moved> waiting;  // higher ones that were not examined
        /// Boxed ones that have not what their original has: words of data, or the one that is
        /// being copied.
        std::vector<Moved> refused;
        bool knows_all_refused = true;
    };

    MovedObjects(Vm& vm, const TagScheme& scheme, const CollectionSpaces& spaces)
        : vm_(&vm), scheme_(scheme) {
        targets_[0].room = spaces.promoted;
        targets_[0].highest_root = spaces.highest_promoted;
        targets_[1].room = spaces.block;
        targets_[1].highest_root = spaces.highest_in_block;
    }
    void note(const Moved& moved);
    void examine(Target& target);
    void refuse(Target& target, const Moved& moved);
    [[nodiscard]] bool is_copy(const Moved& moved);
    [[nodiscard]] Address end_of(const Moved& moved);
    [[nodiscard]] bool may_be_converted(const Moved& moved);
    Result<void> finish(Target& target, records::Collection& into);

    Vm* vm_;
    TagScheme scheme_;
    std::array<Target, 2> targets_;
    Address next_ = 0;  // behind the words seen last
    std::uint64_t previous_ = 0;
};

}  // namespace beamdump::beam
