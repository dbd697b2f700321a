#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/timer.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/vm/steady_read.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kReceivers =
    timer_flags::kName | timer_flags::kProcess | timer_flags::kPort | timer_flags::kCallback;
constexpr std::uint32_t kTimerIsActive = 0;     // erl_hl_timer.c, ERTS_TMR_STATE_ACTIVE
constexpr std::uint32_t kReferenceNumbers = 3;  // erl_term.h: ERTS_REF_NUMBERS
constexpr std::size_t kMaxTimerBytes = 256;
constexpr std::uint64_t kMaxMessageWords = 1ULL << 40U;

}  // namespace

TimerDecoder::TimerDecoder(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names)
    : vm_(&vm), pids_(pids), atoms_(atoms) {
    in_wheel_ = names.field("ErtsTWTimer", "tw_tmr");
    const auto of_slot = [&](std::string_view name) {
        auto field = names.field("ErtsTWheelTimer", name);
        field.offset += in_wheel_.offset;
        return field;
    };
    slot_next_ = of_slot("next");
    slot_prev_ = of_slot("prev");
    slot_timeout_ = of_slot("timeout_pos");
    slot_arg_ = of_slot("arg");
    slot_ = of_slot("slot");
    flags_ = names.field("ErtsTmrHead", "roflgs");
    receiver_ = names.field("ErtsTmrHead", "receiver");
    const auto of_tree = [&](std::string_view name) { return names.field("ErtsHLTimer", name); };
    timeout_ = of_tree("timeout");
    parent_ = of_tree("tree.parent");
    right_ = of_tree("tree.right");
    left_ = of_tree("tree.left");
    prev_ = of_tree("tree.list_prev");
    next_ = of_tree("tree.list_next");
    same_time_ = of_tree("tree.same_time");
    state_ = names.field("ErtsBifTimer", "btm.state");
    reference_ = names.field("ErtsBifTimer", "btm.refn");
    message_ = names.field("ErtsBifTimer", "btm.message");
    fragment_ = names.field("ErtsBifTimer", "btm.bp");
    message_timer_bytes_ = names.bytes("ErtsBifTimer");
    timer_bytes_ = std::max(names.bytes("ErtsTWTimer"), names.bytes("ErtsHLTimer"));
    fragment_words_ = names.field("ErlHeapFragment", "used_size");
    process_id_ = names.field("Process", "common.id");
    port_id_ = names.field("Port", "common.id");
    owner_timer_ = names.field("TimerOwner", "common.timer");
    port_tag_ = names.constant("port_tag");
}

Result<TimerDecoder> TimerDecoder::open(Vm& vm, bool moving) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto ports, IdTable::ports(vm));
    ASSIGN_OR_RETURN(const auto scheme, vm.layout().constant("term_scheme"));
    LayoutNames names(vm.layout());
    TimerDecoder reader(vm, pids, atoms, names);
    RETURN_IF_ERROR(names.outcome());
    if (reader.message_timer_bytes_ > kMaxTimerBytes ||
        reader.timer_bytes_ > reader.message_timer_bytes_) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected timers of at most {} bytes, found {}", kMaxTimerBytes,
                                reader.message_timer_bytes_));
    }
    ASSIGN_OR_RETURN(reader.scheme_, scheme_of(static_cast<format::TermScheme>(scheme)));
    // In OTP 25 a word's lower half has no slot (erl_ptab.h).
    reader.scheme_.port_slots = reader.scheme_.id == format::TermScheme::kOtp25 ? 0 : ports.slots();
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

}  // namespace beamdump::beam
