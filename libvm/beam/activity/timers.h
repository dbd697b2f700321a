#pragma once

#include <libvm/beam/activity/timer.h>

#include <functional>
#include <string>

namespace beamdump::beam {

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
