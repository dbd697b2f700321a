#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/collections/collection.h>
#include <libvm/beam/processes/yield_state.h>
#include <libvm/target/process/threads.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::beam {

/// A word of a collected object that a stopped thread was about to store, or has just overwritten:
/// with it the object is whole.
struct MendedWord {
    Address address = 0;
    std::uint64_t word = 0;
};

/// Threads that collect processes' heaps, in memory that stands still. An object is moved by
/// several stores (erl_gc.h, move_boxed() and move_cons(); OTP 25 to 29), between which its only
/// reference may lead to a copy that is not there yet, or a cell has lost its first word and not
/// yet its address. The thread then has the object's address in a register.
class Collectors {
  public:
    static Result<Collectors> open(Vm& vm);

    /// Those of the stopped threads that stand in such a place.
    std::vector<pid_t> between_stores(std::span<const target::ThreadRegisters> threads);

    /// Notes the processes whose collection stands in such a place.
    void record(std::span<const target::ThreadRegisters> threads);
    /// The threads were let go.
    void forget() {
        unclear_.clear();
        mended_.clear();
        seen_.clear();
    }
    /// Why the collection of that process cannot be followed from where its thread stands; empty if
    /// it can.
    [[nodiscard]] std::string_view unclear(Address process) const;

    /// Whether a stop of a node that runs, if it begins now, is likely to find all large processes
    /// (of 1 MiB and more, which collect on dirty schedulers) where they can be captured: none runs
    /// on a normal scheduler, and none is in the last steps of a collection, or copies messages to
    /// its heap: so one in a collection is looked at twice. Reads one structure for each scheduler
    /// at work.
    bool is_good_moment();

    /// In a stop, after record(): whether all large processes at work stand where they can be
    /// captured, as far as their fields tell it. `known`: the states of those that run.
    bool can_be_captured(const YieldState& known);

    /// Words of that process in place of those in memory: a cell whose first word is only in a
    /// register counts as not moved, or as moved.
    [[nodiscard]] std::span<const MendedWord> mended(Address process) const;

  private:
    Collectors(Vm& vm, CollectedFragments fragments, const TagScheme& scheme, LayoutNames& names)
        : vm_(&vm), fragments_(std::move(fragments)), scheme_(scheme), f_(names) {}
    struct Collected {
        Address process = 0;
        std::vector<Span> from;
        bool known = true;  ///< all places from which objects are moved

        [[nodiscard]] bool holds(Address address) const {
            return std::ranges::any_of(from, [&](const Span& span) { return span.holds(address); });
        }
    };
    template <typename Visit>
    void each_current(const Visit& visit);
    std::vector<Collected> collected();
    [[nodiscard]] bool is_large(const StructView& view) const;
    [[nodiscard]] bool is_followed(const StructView& view) const;
    [[nodiscard]] static bool holds_copy(const target::ThreadRegisters& thread, Address copy);
    [[nodiscard]] bool lacks_header(const target::ThreadRegisters& thread, Address object,
                                    std::uint64_t first, const Collected& collected) const;
    [[nodiscard]] bool stays(const target::ThreadRegisters& thread, Address object,
                             std::uint64_t word);
    [[nodiscard]] bool is_half_moved(Address object, const target::ThreadRegisters& thread,
                                     const Collected& collected, std::vector<MendedWord>& mended);
    [[nodiscard]] bool is_between_stores(const target::ThreadRegisters& thread,
                                         const Collected& collected,
                                         std::vector<MendedWord>& mended);
    [[nodiscard]] std::optional<MendedWord> mended_cell(const target::ThreadRegisters& thread,
                                                        Address cell, std::uint64_t tail,
                                                        const Collected& collected) const;
    [[nodiscard]] bool is_copied_cell(Address copy, const Collected& collected) const;
    [[nodiscard]] bool leads_to_copy(std::uint64_t word, const Collected& collected) const;

    Vm* vm_;
    CollectedFragments fragments_;
    TagScheme scheme_;
    CollectionFields f_;
    struct Schedulers {
        Field current_process;
        std::uint32_t stride = 0;  ///< in bytes, from one structure to the next
    };
    std::optional<Schedulers> schedulers_;
    std::uint64_t gc_ = 0, running_ = 0;
    std::uint64_t called_for_ = 0;  ///< the bits of a collection for which others have called
    std::map<Address, std::string_view> unclear_;
    std::map<Address, std::vector<MendedWord>> mended_;
    /// A large process in a collection, as it was at the last look.
    struct Look {
        Address heap = 0, top = 0;
        /// Its heap is another one since the collection began: what remains is short, or pointers
        /// are being changed because it has moved.
        bool moved = false;
    };
    std::map<Address, Look> looks_;
    /// An object that may be half moved, as it was when it was first seen in this stop.
    struct Seen {
        std::uint64_t word = 0;
        target::ThreadRegisters registers;  ///< when the thread was last elsewhere
        int runs = 0;                       ///< of the thread since
    };
    std::map<std::pair<pid_t, Address>, Seen> seen_;
};

}  // namespace beamdump::beam
