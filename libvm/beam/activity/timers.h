#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>

#include <array>
#include <functional>
#include <string>

namespace beamdump::beam {

/// What leads to a timer: a slot's list in a timer wheel, a timer service's tree, or the ring of
/// those that have the same timeout as one in the tree.
enum class TimerPlace : std::uint8_t { kWheel, kTree, kSameTime };

/// ErtsTmrHead.roflgs and the flags of links in trees (erl_hl_timer.c, the same in OTP 25 to 29).
namespace timer_flags {
inline constexpr std::uint32_t kScheduler = (1U << 11U) - 1;
inline constexpr std::uint32_t kHighLevel = 1U << 11U;
inline constexpr std::uint32_t kMessage = 1U << 12U;  ///< of send_after or start_timer
inline constexpr std::uint32_t kName = 1U << 14U;
inline constexpr std::uint32_t kProcess = 1U << 15U;
inline constexpr std::uint32_t kPort = 1U << 16U;
inline constexpr std::uint32_t kCallback = 1U << 17U;  ///< of the VM
inline constexpr std::uint64_t kSameTime = 2;          ///< ERTS_HLT_PFLG_SAME_TIME
inline constexpr std::uint64_t kOfParent = 3;          ///< all that a link to a parent may have
}  // namespace timer_flags

/// What is read of a timer; which fields depends on its place and kind.
struct SeenTimer {
    Address timer = 0;
    std::uint32_t flags = 0;  ///< 0: one of the VM's own
    std::uint64_t receiver = 0;
    std::int64_t timeout = 0;
    Address next = 0, prev = 0;                  ///< in a ring
    std::uint32_t slot = 0;                      ///< in the wheel
    std::uint64_t parent = 0;                    ///< with its flags
    Address left = 0, right = 0, same_time = 0;  ///< in the tree
    std::uint32_t state = 0;
    std::array<std::uint32_t, 3> reference{};
    std::uint64_t message = 0;
    Address fragment = 0;
    // What these lead to.
    std::uint64_t message_words = 0;
    std::uint64_t receiver_id = 0;  ///< an owner id, a port's number or an atom
    bool cancelled = false;

    /// Whether another read has the same; what it leads to is not compared.
    [[nodiscard]] bool same(const SeenTimer& other) const {
        return flags == other.flags && receiver == other.receiver && timeout == other.timeout &&
               next == other.next && prev == other.prev && slot == other.slot &&
               parent == other.parent && left == other.left && right == other.right &&
               same_time == other.same_time && state == other.state &&
               reference == other.reference && message == other.message &&
               fragment == other.fragment;
    }
};

/// Reads single timers.
class TimerDecoder {
  public:
    /// `moving`: the node is running.
    static Result<TimerDecoder> open(Vm& vm, bool moving);

    /// The timer of that scheduler at `timer`, with its receiver and its message's size. While the
    /// node runs, it was the same before and after these. kImplausible or kUnmapped if it is no
    /// timer.
    Result<SeenTimer> read(TimerPlace place, Address timer, std::uint32_t scheduler) const;

    /// Bytes from a timer's beginning to what links in a list lead to, and to its own link.
    [[nodiscard]] std::uint32_t linked_at(TimerPlace place) const {
        return place == TimerPlace::kWheel ? in_wheel_.offset : 0;
    }
    [[nodiscard]] std::uint32_t next_at(TimerPlace place) const {
        return (place == TimerPlace::kWheel ? slot_next_ : next_).offset;
    }
    /// Bytes from the beginning of a timer in the tree to the link to its ring.
    [[nodiscard]] std::uint32_t ring_at() const { return same_time_.offset; }

  private:
    TimerDecoder(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names);
    [[nodiscard]] Result<SeenTimer> once(TimerPlace place, Address timer,
                                         std::uint32_t scheduler) const;
    [[nodiscard]] Result<SeenTimer> seen(TimerPlace place, Address timer) const;
    [[nodiscard]] Result<void> follow(TimerPlace place, std::uint32_t scheduler,
                                      SeenTimer& seen) const;

    Vm* vm_;
    bool moving_ = false;
    PidWords pids_;
    AtomWords atoms_;
    TagScheme scheme_;
    Field slot_next_, slot_prev_, slot_timeout_, slot_arg_, slot_;     // in the wheel
    Field timeout_, parent_, right_, left_, prev_, next_, same_time_;  // in the tree
    Field flags_, receiver_, in_wheel_;
    Field state_, reference_, message_, fragment_;
    Field fragment_words_, process_id_, port_id_, owner_timer_;
    std::uint32_t timer_bytes_ = 0, message_timer_bytes_ = 0;
    std::uint64_t port_tag_ = 0;
};

/// Reads the node's timers (erl_hl_timer.c, time.c; OTP 25 to 29): those in each normal scheduler's
/// timer wheel, and those in the tree of its timer service, where timers beyond the wheel are, and
/// others with the same timeout in rings. A timer is believed where its link back leads to where
/// it was reached from, and its scheduler, slot or timeout are those of the place.
///
/// While the node runs, a timer is also read twice, with its receiver and its message between both,
/// until both reads are equal. A timer that is set, cancelled or moved within the wheel meanwhile
/// may be there or not; none is there twice.
class TimerReader {
  public:
    /// kNotFound: the schedulers' place is not known. `moving`: the node is running.
    static Result<TimerReader> open(Vm& vm, bool moving);

    struct Left {
        std::uint64_t schedulers = 0;  ///< whose wheel or tree could not be read at all
        std::uint64_t lost = 0;        ///< lists and subtrees whose rest could not be read
        std::uint64_t missing = 0;     ///< timers that the wheels count and that were not met
        std::string why;               ///< the first of these was so
    };
    using TakePage = std::function<Result<void>(records::Timers&)>;
    /// Hands over all timers that are set, then what is known of each wheel, in pages of at most
    /// `most`. Memory: one page and the slots of one wheel (262,152 bytes). Only kTargetDied and
    /// errors of `page` are errors.
    Result<Left> read(std::size_t most, const TakePage& page);

  private:
    struct Walk;
    struct Ring;

    TimerReader(Vm& vm, TimerDecoder decoder, LayoutNames& names, bool moving);
    Result<void> scheduler(Walk& walk, Address data);
    Result<void> wheel(Walk& walk, Address wheel);
    Result<void> tree(Walk& walk, Address root);
    Result<void> ring(Walk& walk, const Ring& ring);
    [[nodiscard]] bool has_emptied(const Ring& ring) const;
    Result<SeenTimer> next(Walk& walk, const Ring& ring, const SeenTimer* before, Address& at);
    [[nodiscard]] Result<SeenTimer> in_ring(const Walk& walk, const Ring& ring, Address before,
                                            Address at) const;
    static Result<void> add(Walk& walk, TimerPlace place, const SeenTimer& seen);
    static Result<void> lose(Walk& walk, const Error& error);

    Vm* vm_;
    bool moving_;
    TimerDecoder decoder_;
    Field wheel_, service_, tree_;
    Field slots_, first_slot_, position_, counted_;
    std::uint32_t stride_ = 0;
};

}  // namespace beamdump::beam
