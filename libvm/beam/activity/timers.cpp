#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/timers.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/vm/steady_read.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kReceivers =
    timer_flags::kName | timer_flags::kProcess | timer_flags::kPort | timer_flags::kCallback;
constexpr std::uint32_t kTimerIsActive = 0;  // erl_hl_timer.c, ERTS_TMR_STATE_ACTIVE
constexpr std::size_t kMaxTimerBytes = 256;
constexpr std::uint64_t kMaxMessageWords = 1ULL << 40U;

constexpr std::uint32_t kAtOnce = UINT32_MAX;    // time.c, ERTS_TW_SLOT_AT_ONCE
constexpr std::uint32_t kMaxTimerWheels = 1024;  // erl_vm.h: ERTS_MAX_NO_OF_SCHEDULERS
constexpr std::size_t kMaxTreeDepth = 128;       // a red-black tree of 2^63 nodes is less deep
/// A list of a wheel may grow as fast as it is read: so many more timers than the wheel counted,
/// and as many again as it counted, are read of a running node at most.
constexpr std::uint64_t kMoreThanCountedTimers = 4096;
constexpr std::uint64_t kMaxTimers = 1ULL << 28U;  // of a scheduler; 17 GiB of the node's memory

Error implausible(std::string text) {
    return {ErrorCode::kImplausible, std::move(text)};
}

}  // namespace

TimerDecoder::TimerDecoder(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names)
    : vm_(&vm), pids_(pids), atoms_(atoms) {
    in_wheel_ = names.field(runtime::ErtsTWTimer::tw_tmr);
    const auto of_slot = [&](FieldName name) {
        auto field = names.field(name);
        field.offset += in_wheel_.offset;
        return field;
    };
    slot_next_ = of_slot(runtime::ErtsTWheelTimer::next);
    slot_prev_ = of_slot(runtime::ErtsTWheelTimer::prev);
    slot_timeout_ = of_slot(runtime::ErtsTWheelTimer::timeout_pos);
    slot_arg_ = of_slot(runtime::ErtsTWheelTimer::arg);
    slot_ = of_slot(runtime::ErtsTWheelTimer::slot);
    flags_ = names.field(runtime::ErtsTmrHead::roflgs);
    receiver_ = names.field(runtime::ErtsTmrHead::receiver);
    timeout_ = names.field(runtime::ErtsHLTimer::timeout);
    parent_ = names.field(runtime::ErtsHLTimer::tree_parent);
    right_ = names.field(runtime::ErtsHLTimer::tree_right);
    left_ = names.field(runtime::ErtsHLTimer::tree_left);
    prev_ = names.field(runtime::ErtsHLTimer::tree_list_prev);
    next_ = names.field(runtime::ErtsHLTimer::tree_list_next);
    same_time_ = names.field(runtime::ErtsHLTimer::tree_same_time);
    state_ = names.field(runtime::ErtsBifTimer::btm_state);
    reference_ = names.field(runtime::ErtsBifTimer::btm_refn);
    message_ = names.field(runtime::ErtsBifTimer::btm_message);
    fragment_ = names.field(runtime::ErtsBifTimer::btm_bp);
    message_timer_bytes_ = names.bytes(runtime::ErtsBifTimer::kName);
    timer_bytes_ = std::max(names.bytes(runtime::ErtsTWTimer::kName),
                            names.bytes(runtime::ErtsHLTimer::kName));
    fragment_words_ = names.field(runtime::ErlHeapFragment::used_size);
    process_id_ = names.field(runtime::Process::common_id);
    port_id_ = names.field(runtime::Port::common_id);
    owner_timer_ = names.field(runtime::TimerOwner::common_timer);
    port_tag_ = names.constant(runtime::constant::port_tag);
}

Result<TimerDecoder> TimerDecoder::open(Vm& vm, bool moving) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto scheme, port_scheme(vm));
    LayoutNames names(vm.layout());
    TimerDecoder reader(vm, pids, atoms, names);
    RETURN_IF_ERROR(names.outcome());
    if (reader.message_timer_bytes_ > kMaxTimerBytes ||
        reader.timer_bytes_ > reader.message_timer_bytes_) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected timers of at most {} bytes, found {}", kMaxTimerBytes,
                                reader.message_timer_bytes_));
    }
    reader.scheme_ = scheme;
    reader.moving_ = moving;
    return reader;
}

Result<SeenTimer> TimerDecoder::read(TimerPlace place, Address timer,
                                     std::uint32_t scheduler) const {
    auto read = once(place, timer, scheduler);
    for (int tries = 1; moving_ && !read && tries < kTableTries; ++tries) {
        read = once(place, timer, scheduler);
    }
    return read;
}

Result<SeenTimer> TimerDecoder::once(TimerPlace place, Address timer,
                                     std::uint32_t scheduler) const {
    ASSIGN_OR_RETURN(auto read, seen(place, timer));
    RETURN_IF_ERROR(follow(place, scheduler, read));
    if (moving_) {
        ASSIGN_OR_RETURN(const auto again, seen(place, timer));
        if (!again.same(read)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("timer at {:#x}: it changed between two reads", timer));
        }
    }
    return read;
}

Result<SeenTimer> TimerDecoder::seen(TimerPlace place, Address timer) const {
    auto& memory = vm_->bulk();
    std::array<std::byte, kMaxTimerBytes> buffer{};
    const auto bytes = std::span(buffer).first(message_timer_bytes_);
    // Most timers are shorter; what is behind them need not be there.
    ASSIGN_OR_RETURN(const auto some, memory.read_some(timer, bytes));
    if (some < timer_bytes_) {
        RETURN_IF_ERROR(memory.read(timer, bytes.first(timer_bytes_)));
    }
    const StructView view(bytes);
    SeenTimer read;
    read.timer = timer;
    if (place == TimerPlace::kWheel) {
        read.timeout = std::bit_cast<std::int64_t>(view.get(slot_timeout_));
        read.next = view.get(slot_next_);
        read.prev = view.get(slot_prev_);
        read.slot = view.u32(slot_);
        if (view.get(slot_arg_) != timer) {
            return read;  // one of the VM's own, which has another structure around it
        }
    } else {
        read.timeout = std::bit_cast<std::int64_t>(view.get(timeout_));
        read.parent = view.get(parent_);
        if (place == TimerPlace::kTree) {
            read.left = view.get(left_);
            read.right = view.get(right_);
            read.same_time = view.get(same_time_);
        } else {
            read.next = view.get(next_);
            read.prev = view.get(prev_);
        }
    }
    read.flags = view.u32(flags_);
    read.receiver = view.get(receiver_);
    if ((read.flags & timer_flags::kMessage) != 0) {
        if (some < bytes.size()) {
            RETURN_IF_ERROR(memory.read(timer, bytes));
        }
        read.state = view.u32(state_);
        for (std::uint32_t at = 0; at < kReferenceNumbers; ++at) {
            read.reference.at(at) = view.u32({reference_.offset + at * 4, 4});
        }
        read.message = view.get(message_);
        read.fragment = view.get(fragment_);
    }
    return read;
}

/// Reads what a timer leads to: receiver and message.
Result<void> TimerDecoder::follow(TimerPlace place, std::uint32_t scheduler,
                                  SeenTimer& seen) const {
    if (place == TimerPlace::kWheel && seen.flags == 0) {
        return {};
    }
    auto& memory = vm_->bulk();
    const auto receivers = seen.flags & kReceivers;
    const bool of_message = (seen.flags & timer_flags::kMessage) != 0;
    if ((seen.flags & timer_flags::kScheduler) != scheduler || std::popcount(receivers) != 1 ||
        ((seen.flags & timer_flags::kHighLevel) != 0) != (place != TimerPlace::kWheel) ||
        (of_message && (receivers & (timer_flags::kName | timer_flags::kProcess)) == 0) ||
        (!of_message && receivers == timer_flags::kName)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("timer at {:#x}: expected one of scheduler {}, found flags {:#x}",
                                seen.timer, scheduler, seen.flags));
    }
    std::optional<std::uint64_t> of;
    if (receivers == timer_flags::kName) {
        of = atoms_.index(seen.receiver);
    } else if (receivers != timer_flags::kCallback) {
        const auto id_field = receivers == timer_flags::kProcess ? process_id_ : port_id_;
        ASSIGN_OR_RETURN(const auto id, memory.word(seen.receiver + id_field.offset));
        if (receivers == timer_flags::kProcess) {
            of = pids_.owner_id(id);
        } else if ((id & kImmediateTagMask) == (port_tag_ & kImmediateTagMask)) {
            of = port_number(scheme_, id);
        }
        // A process or port has one timer of its own; what it has cancelled it no longer names.
        if (!of_message) {
            ASSIGN_OR_RETURN(const auto own, memory.word(seen.receiver + owner_timer_.offset));
            seen.cancelled = own != seen.timer;
        }
    }
    if (receivers != timer_flags::kCallback && !of) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("timer at {:#x}: expected a receiver of the kind that its flags "
                                "{:#x} say, found {:#x}",
                                seen.timer, seen.flags, seen.receiver));
    }
    seen.receiver_id = of.value_or(0);
    seen.cancelled = seen.cancelled || seen.state != kTimerIsActive;
    if (of_message && !seen.cancelled && seen.fragment != 0) {
        ASSIGN_OR_RETURN(seen.message_words, memory.word(seen.fragment + fragment_words_.offset));
        if (seen.message_words == 0 || seen.message_words > kMaxMessageWords) {
            return fail(
                ErrorCode::kImplausible,
                fmt::format("timer at {:#x}: expected a message of 1 to {} words at {:#x}, "
                            "found {}",
                            seen.timer, kMaxMessageWords, seen.fragment, seen.message_words));
        }
    }
    return {};
}

/// The state of reading one scheduler's timers.
struct TimerReader::Walk {
    std::uint32_t number = 0;
    records::TimerWheel wheel;
    std::uint64_t met = 0;  ///< of the wheel or the tree, of all kinds
    std::uint64_t most_met = kMaxTimers;
    std::uint64_t internal = 0, cancelled = 0, lost = 0;
    std::string why;
    std::size_t most = 0;
    records::Timers page;
    const TakePage* take = nullptr;

    Result<void> flush() {
        auto done = page.timer_size() + page.wheel_size() == 0 ? Result<void>() : (*take)(page);
        page.Clear();
        return done;
    }
    Result<void> flush_if_full() {
        const auto entries = static_cast<std::size_t>(page.timer_size()) +
                             static_cast<std::size_t>(page.wheel_size());
        return entries < most ? Result<void>() : flush();
    }
};

/// A circular list of timers: of a slot, or of those with the same timeout as one of the tree.
struct TimerReader::Ring {
    TimerPlace place = TimerPlace::kWheel;
    Address head = 0;          ///< of the word that leads to its first member
    Address first = 0;         ///< what that word said
    std::uint32_t slot = 0;    ///< in the wheel
    std::int64_t timeout = 0;  ///< in the tree
};

TimerReader::TimerReader(Vm& vm, TimerDecoder decoder, LayoutNames& names, bool moving)
    : vm_(&vm), moving_(moving), decoder_(decoder) {
    wheel_ = names.field(runtime::ErtsSchedulerData::timer_wheel);
    service_ = names.field(runtime::ErtsSchedulerData::timer_service);
    stride_ = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
    slots_ = names.field(runtime::ErtsTimerWheel::slots);
    first_slot_ = names.field(runtime::ErtsTimerWheel::w);
    position_ = names.field(runtime::ErtsTimerWheel::pos);
    counted_ = names.field(runtime::ErtsTimerWheel::nto);
    tree_ = names.field(runtime::ErtsHLTimerService::time_tree);
}

Result<TimerReader> TimerReader::open(Vm& vm, bool moving) {
    if (vm.tables().schedulers == 0) {
        return fail(ErrorCode::kNotFound, "the schedulers' place was not found");
    }
    if (vm.facts().schedulers > kMaxTimerWheels) {
        return fail(ErrorCode::kImplausible, fmt::format("expected at most {} schedulers, found {}",
                                                         kMaxTimerWheels, vm.facts().schedulers));
    }
    ASSIGN_OR_RETURN(const auto decoder, TimerDecoder::open(vm, moving));
    LayoutNames names(vm.layout());
    TimerReader reader(vm, decoder, names, moving);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<TimerReader::Left> TimerReader::read(std::size_t most, const TakePage& page) {
    Left left;
    records::Timers wheels;
    Walk walk;
    walk.most = most;
    walk.take = &page;
    for (std::uint32_t number = 1; number <= vm_->facts().schedulers; ++number) {
        walk.number = number;
        walk.wheel.Clear();
        walk.wheel.set_scheduler(number);
        walk.met = walk.internal = walk.cancelled = walk.lost = 0;
        walk.why.clear();
        const auto data = vm_->tables().schedulers + (number - 1) * std::uint64_t{stride_};
        if (auto done = scheduler(walk, data); !done) {
            if (done.error().code != ErrorCode::kImplausible &&
                done.error().code != ErrorCode::kUnmapped) {
                return std::unexpected(done.error());
            }
            ++left.schedulers;
            walk.why = done.error().message;
        }
        left.lost += walk.lost;
        const auto& wheel = walk.wheel;
        if (wheel.has_wheel_timers() && wheel.counted() > wheel.wheel_timers()) {
            left.missing += wheel.counted() - wheel.wheel_timers();
        }
        if (left.why.empty()) {
            left.why = walk.why;
        }
        *wheels.add_wheel() = walk.wheel;
    }
    for (auto& wheel : *wheels.mutable_wheel()) {
        *walk.page.add_wheel() = std::move(wheel);
        RETURN_IF_ERROR(walk.flush_if_full());
    }
    RETURN_IF_ERROR(walk.flush());
    return left;
}

Result<void> TimerReader::scheduler(Walk& walk, Address data) {
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto wheel_at, memory.word(data + wheel_.offset));
    ASSIGN_OR_RETURN(const auto service, memory.word(data + service_.offset));
    RETURN_IF_ERROR(wheel(walk, wheel_at));
    walk.wheel.set_wheel_timers(std::exchange(walk.met, 0));
    walk.most_met = kMaxTimers;
    ASSIGN_OR_RETURN(const auto root, memory.word(service + tree_.offset));
    RETURN_IF_ERROR(tree(walk, root));
    walk.wheel.set_tree_timers(walk.met);
    walk.wheel.set_internal(walk.internal);
    walk.wheel.set_cancelled(walk.cancelled);
    walk.wheel.set_lost(walk.lost);
    return {};
}

Result<void> TimerReader::wheel(Walk& walk, Address wheel) {
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto first_slot, memory.word(wheel + first_slot_.offset));
    // time.c, erts_create_timer_wheel(): the slot for timeouts at once comes before the others.
    if (first_slot != wheel + slots_.offset + 8) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("timer wheel at {:#x} of scheduler {}: expected its first slot at "
                                "{:#x}, found {:#x}",
                                wheel, walk.number, wheel + slots_.offset + 8, first_slot));
    }
    ASSIGN_OR_RETURN(const auto position, memory.word(wheel + position_.offset));
    ASSIGN_OR_RETURN(const auto counted, memory.word(wheel + counted_.offset));
    // Timers only move from later slots to earlier ones: none is met twice.
    ASSIGN_OR_RETURN(const auto slots, read_words(memory, wheel + slots_.offset, slots_.bytes / 8));
    walk.wheel.set_position(std::bit_cast<std::int64_t>(position));
    walk.wheel.set_counted(counted);
    if (moving_) {
        walk.most_met = 2 * std::min(counted, kMaxTimers) + kMoreThanCountedTimers;
    }
    for (std::size_t at = 0; at < slots.size() && walk.met < walk.most_met; ++at) {
        if (slots[at] != 0) {
            const auto slot = at == 0 ? kAtOnce : static_cast<std::uint32_t>(at - 1);
            RETURN_IF_ERROR(ring(walk, {.place = TimerPlace::kWheel,
                                        .head = wheel + slots_.offset + at * 8,
                                        .first = slots[at],
                                        .slot = slot}));
        }
    }
    return {};
}

Result<void> TimerReader::tree(Walk& walk, Address root) {
    struct Branch {
        Address timer, parent;
        std::int64_t above, below;  ///< its timeout must be between these
        std::size_t depth;
    };
    std::vector<Branch> branches;
    if (root != 0) {
        branches.push_back({root, 0, INT64_MIN, INT64_MAX, 0});
    }
    while (!branches.empty()) {
        const auto branch = branches.back();
        branches.pop_back();
        auto read = decoder_.read(TimerPlace::kTree, branch.timer, walk.number);
        if (read && (read->parent & ~timer_flags::kOfParent) == branch.parent &&
            (read->parent & timer_flags::kSameTime) == 0 && read->timeout > branch.above &&
            read->timeout < branch.below && branch.depth < kMaxTreeDepth) {
            RETURN_IF_ERROR(add(walk, TimerPlace::kTree, *read));
        } else {
            RETURN_IF_ERROR(
                lose(walk, read ? implausible(fmt::format(
                                      "timer at {:#x}: expected one below {:#x} of the tree of "
                                      "scheduler {}, at most {} deep, with a timeout between {} "
                                      "and {}, found one below {:#x} at {}",
                                      branch.timer, branch.parent, walk.number, kMaxTreeDepth,
                                      branch.above, branch.below, read->parent, read->timeout))
                                : read.error()));
            continue;
        }
        if (read->same_time != 0) {
            RETURN_IF_ERROR(ring(walk, {.place = TimerPlace::kSameTime,
                                        .head = branch.timer + decoder_.ring_at(),
                                        .first = read->same_time,
                                        .timeout = read->timeout}));
        }
        const auto push = [&](Address child, std::int64_t above, std::int64_t below) {
            if (child != 0) {
                branches.push_back({child, branch.timer, above, below, branch.depth + 1});
            }
        };
        push(read->right, read->timeout, branch.below);
        push(read->left, branch.above, read->timeout);
    }
    return {};
}

Result<void> TimerReader::ring(Walk& walk, const Ring& ring) {
    std::optional<SeenTimer> before;
    Address at = ring.first;
    Address first = 0, first_prev = 0;
    for (;;) {
        auto read = next(walk, ring, before ? &*before : nullptr, at);
        if (!read) {
            // Nothing is lost if all of them have gone since.
            return moving_ && has_emptied(ring) ? Result<void>() : lose(walk, read.error());
        }
        if (before && at == first) {
            return {};
        }
        first = before ? first : at;
        first_prev = before ? first_prev : read->prev;
        RETURN_IF_ERROR(add(walk, ring.place, *read));
        if (read->next == first) {
            const auto last = read->timer + decoder_.linked_at(ring.place);
            return moving_ || first_prev == last
                       ? Result<void>()
                       : lose(walk, implausible(fmt::format(
                                        "timer at {:#x}: expected one after {:#x}, the last of a "
                                        "list of scheduler {}, found one after {:#x}",
                                        first, last, walk.number, first_prev)));
        }
        if (walk.met >= walk.most_met) {
            return lose(walk,
                        implausible(fmt::format(
                            "the timers of scheduler {} are set faster than they are read: {} "
                            "were counted, and after {} the rest is left out",
                            walk.number, walk.wheel.counted(), walk.met)));
        }
        before = std::move(*read);
        at = before->next;
        // While timers go, another one may have become the first.
        if (moving_) {
            const auto head = vm_->bulk().word(ring.head);
            if (head && *head == at) {
                return {};
            }
        }
    }
}

bool TimerReader::has_emptied(const Ring& ring) const {
    const auto head = vm_->bulk().word(ring.head);
    return head && *head == 0;
}

/// The member at `at`, which is after `before`, or is the first. While the node runs, tries again
/// what that one leads to.
Result<SeenTimer> TimerReader::next(Walk& walk, const Ring& ring, const SeenTimer* before,
                                    Address& at) {
    const auto from =
        before == nullptr ? Address{0} : before->timer + decoder_.linked_at(ring.place);
    auto read = in_ring(walk, ring, from, at);
    for (int tries = 1; moving_ && !read && tries < kTableTries; ++tries) {
        if (read.error().code == ErrorCode::kTargetDied) {
            return read;
        }
        const auto link =
            before == nullptr ? ring.head : before->timer + decoder_.next_at(ring.place);
        ASSIGN_OR_RETURN(at, vm_->bulk().word(link));
        read = in_ring(walk, ring, from, at);
    }
    return read;
}

Result<SeenTimer> TimerReader::in_ring(const Walk& walk, const Ring& ring, Address before,
                                       Address at) const {
    ASSIGN_OR_RETURN(auto read,
                     decoder_.read(ring.place, at - decoder_.linked_at(ring.place), walk.number));
    const bool belongs =
        ring.place == TimerPlace::kWheel
            ? read.slot == ring.slot
            : read.timeout == ring.timeout && (read.parent & timer_flags::kSameTime) != 0;
    if (!belongs || (before != 0 && read.prev != before)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("timer at {:#x}: expected one after {:#x} in {} of scheduler {}, "
                                "found one after {:#x}, in slot {}, with timeout {}",
                                read.timer, before,
                                ring.place == TimerPlace::kWheel
                                    ? fmt::format("slot {}", static_cast<std::int32_t>(ring.slot))
                                    : fmt::format("the ring of timeout {}", ring.timeout),
                                walk.number, read.prev, static_cast<std::int32_t>(read.slot),
                                read.timeout));
    }
    return read;
}

Result<void> TimerReader::add(Walk& walk, TimerPlace place, const SeenTimer& seen) {
    if (++walk.met > kMaxTimers) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("over {} timers of scheduler {}", kMaxTimers, walk.number));
    }
    if ((place == TimerPlace::kWheel && seen.flags == 0) ||
        (seen.flags & timer_flags::kCallback) != 0) {
        ++walk.internal;
        return {};
    }
    if (seen.cancelled) {
        ++walk.cancelled;
        return {};
    }
    auto& timer = *walk.page.add_timer();
    timer.set_struct_address(seen.timer);
    timer.set_scheduler(walk.number);
    timer.set_high_level((seen.flags & timer_flags::kHighLevel) != 0);
    timer.set_timeout_position(seen.timeout);
    if ((seen.flags & timer_flags::kName) != 0) {
        timer.set_receiver_name_atom(static_cast<std::uint32_t>(seen.receiver_id));
    } else if ((seen.flags & timer_flags::kProcess) != 0) {
        timer.set_receiver_owner_id(seen.receiver_id);
    } else {
        timer.set_port_number(seen.receiver_id);
    }
    timer.set_kind((seen.flags & timer_flags::kMessage) != 0   ? records::TIMER_KIND_MESSAGE
                   : (seen.flags & timer_flags::kProcess) != 0 ? records::TIMER_KIND_RECEIVE
                                                               : records::TIMER_KIND_PORT);
    if ((seen.flags & timer_flags::kMessage) != 0) {
        // Printed with the last one first (erts_printf_term.c).
        for (auto at = seen.reference.rbegin(); at != seen.reference.rend(); ++at) {
            timer.add_reference_number(*at);
        }
        timer.set_message_words(seen.message_words);
    }
    return walk.flush_if_full();
}

/// Notes that what is behind a place cannot be read.
Result<void> TimerReader::lose(Walk& walk, const Error& error) {
    if (error.code != ErrorCode::kImplausible && error.code != ErrorCode::kUnmapped) {
        return std::unexpected(error);
    }
    if (walk.lost++ == 0) {
        walk.why = error.message;
    }
    return {};
}

}  // namespace beamdump::beam
