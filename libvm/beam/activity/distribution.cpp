#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/distribution.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/node_tables.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr int kEntryTries = 4;
constexpr std::uint64_t kMostSuspended = 1U << 20U;
constexpr int kMostSuspendedPids = 100;  // more are only counted

}  // namespace

DistributionReader::DistributionReader(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names)
    : vm_(&vm), pids_(pids), atoms_(atoms) {
    name_ = names.field(runtime::DistEntry::sysname);
    creation_ = names.field(runtime::DistEntry::creation);
    controller_ = names.field(runtime::DistEntry::cid);
    connection_ = names.field(runtime::DistEntry::connection_id);
    state_ = names.field(runtime::DistEntry::state);
    flags_ = names.field(runtime::DistEntry::dflags);
    queue_flags_ = names.field(runtime::DistEntry::qflgs);
    // OTP 27 to 29 have both: qsize is only what counts towards the limit (erl_node_tables.h).
    queued_ = names.field({runtime::DistEntry::total_qsize, runtime::DistEntry::qsize});
    in_ = names.field(runtime::DistEntry::in);
    out_ = names.field(runtime::DistEntry::out);
    suspended_ = names.field(runtime::DistEntry::suspended);
    bytes_ = names.bytes(runtime::DistEntry::kName);
    pid_ = names.field(runtime::ErtsProcList::pid);
    next_ = names.field(runtime::ErtsProcList::next);
    prev_ = names.field(runtime::ErtsProcList::prev);
    member_bytes_ = names.bytes(runtime::ErtsProcList::kName);
    nil_ = names.constant(runtime::constant::nil);
    port_tag_ = names.constant(runtime::constant::port_tag);
    is_busy_ = names.constant(runtime::constant::dist_queue_busy);
    is_published_ = names.constant(runtime::constant::dist_flag_published);
    idle_ = names.constant(runtime::constant::dist_state_idle);
    pending_ = names.constant(runtime::constant::dist_state_pending);
    connected_ = names.constant(runtime::constant::dist_state_connected);
    exiting_ = names.constant(runtime::constant::dist_state_exiting);
}

Result<DistributionReader> DistributionReader::open(Vm& vm) {
    if (!vm.tables().other.distribution) {
        return fail(ErrorCode::kNotFound, "erts_dist_table was not found");
    }
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto ports, IdTable::ports(vm));
    ASSIGN_OR_RETURN(const auto scheme, vm.layout().constant(runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(const auto own, read_node_name(vm));
    LayoutNames names(vm.layout());
    DistributionReader reader(vm, pids, atoms, names);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(reader.scheme_, scheme_of(static_cast<format::TermScheme>(scheme)));
    // In OTP 25 a word's lower half has no slot (erl_ptab.h).
    reader.scheme_.port_slots = reader.scheme_.id == format::TermScheme::kOtp25 ? 0 : ports.slots();
    reader.own_name_ = own.atom;
    return reader;
}

Result<DistributionReader::Left> DistributionReader::read(
    std::size_t most, const std::function<Result<void>(records::DistributionEntries&)>& page) {
    ASSIGN_OR_RETURN(const auto addresses, hash_objects(*vm_, *vm_->tables().other.distribution));
    Left left;
    records::DistributionEntries entries;
    const auto flush = [&]() -> Result<void> {
        auto done = page(entries);
        entries.Clear();
        return done;
    };
    bool none = true;
    for (const auto address : addresses) {
        auto read = entry(address, left);
        for (int tries = 1; !read && tries < kEntryTries; ++tries) {
            read = entry(address, left);
        }
        if (!read) {
            if (read.error().code == ErrorCode::kTargetDied) {
                return std::unexpected(read.error());
            }
            ++left.unreadable;
            left.why = left.why.empty() ? read.error().message : left.why;
        } else if (read->name_atom() != own_name_) {
            *entries.add_entry() = std::move(*read);
        }
        if (static_cast<std::size_t>(entries.entry_size()) >= most) {
            RETURN_IF_ERROR(flush());
            none = false;
        }
    }
    if (none || entries.entry_size() != 0) {
        RETURN_IF_ERROR(flush());
    }
    return left;
}

Result<records::DistributionEntry> DistributionReader::entry(Address address, Left& left) {
    records::DistributionEntry entry;
    ASSIGN_OR_RETURN(const auto before, OwnedStruct::read(vm_->bulk(), address, bytes_));
    Result<void> list;
    for (int tries = 0; tries < kEntryTries && (tries == 0 || !list); ++tries) {
        ASSIGN_OR_RETURN(const auto first, vm_->bulk().word(address + suspended_.offset));
        list = suspended(first, entry);
        ASSIGN_OR_RETURN(const auto now, vm_->bulk().word(address + suspended_.offset));
        if (list && now != first) {
            list = fail(ErrorCode::kImplausible,
                        fmt::format("process list of the node entry at {:#x}: expected the first "
                                    "member {:#x} in two reads, found {:#x}",
                                    address, first, now));
        }
    }
    if (!list) {
        entry.clear_suspended();
        entry.clear_suspended_owner_id();
    }
    if (!list && list.error().code == ErrorCode::kTargetDied) {
        return std::unexpected(list.error());
    }
    ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), address, bytes_));
    const auto view = read.view();
    const bool same = std::ranges::all_of(
        std::initializer_list<Field>{name_, creation_, controller_, connection_, state_},
        [&](Field field) { return before.view().get(field) == view.get(field); });
    const auto name = atoms_.index(view.get(name_));
    const auto state = view.u32(state_);
    const auto known = {idle_, pending_, connected_, exiting_};
    if (!same || !name || std::ranges::find(known, state) == known.end()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("node entry at {:#x}: expected an atom and a state from {} to {}, "
                                "the same in two reads, found {:#x} and {}, {:#x} and {}",
                                address, idle_, exiting_, before.view().get(name_),
                                before.view().u32(state_), view.get(name_), state));
    }
    if (!list) {
        ++left.suspended;
        left.why = left.why.empty() ? list.error().message : left.why;
    }
    entry.set_name_atom(*name);
    entry.set_struct_address(address);
    entry.set_state(state == connected_ ? records::DISTRIBUTION_STATE_CONNECTED
                    : state == pending_ ? records::DISTRIBUTION_STATE_PENDING
                    : state == exiting_ ? records::DISTRIBUTION_STATE_EXITING
                                        : records::DISTRIBUTION_STATE_IDLE);
    // Those of the connection before are left in the structure.
    if (state == connected_ || state == exiting_) {
        entry.set_creation(view.u32(creation_));
        entry.set_connection_id(view.u32(connection_));
        entry.set_visible((view.get(flags_) & is_published_) != 0);
        entry.set_packets_in(view.get(in_));
        entry.set_packets_out(view.get(out_));
    }
    entry.set_queued_bytes(view.get(queued_));
    entry.set_busy((view.get(queue_flags_) & is_busy_) != 0);
    RETURN_IF_ERROR(controller(view.get(controller_), entry));
    return entry;
}

Result<void> DistributionReader::controller(std::uint64_t word,
                                            records::DistributionEntry& entry) const {
    if (word == nil_) {
        return {};
    }
    if (const auto pid = pids_.owner_id(word)) {
        entry.set_controller_owner_id(*pid);
        return {};
    }
    if ((word & kImmediateTagMask) != (port_tag_ & kImmediateTagMask)) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("a connection's controller: expected a pid or a port, found {:#x}", word));
    }
    entry.set_controller_port_number(port_number(scheme_, word));
    return {};
}

/// The circular list of processes that wait until the queue is shorter (erl_process.h).
Result<void> DistributionReader::suspended(Address first, records::DistributionEntry& entry) const {
    entry.clear_suspended();
    entry.clear_suspended_owner_id();
    std::uint64_t count = 0;
    Address before = 0, last = 0;
    for (auto at = first; at != 0; ++count) {
        ASSIGN_OR_RETURN(const auto read, OwnedStruct::read(vm_->bulk(), at, member_bytes_));
        const auto view = read.view();
        const auto pid = pids_.owner_id(view.get(pid_));
        last = before == 0 ? view.get(prev_) : last;
        if (!pid || (before != 0 && view.get(prev_) != before) || count >= kMostSuspended) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("process list at {:#x}: expected member {} of at most {} with "
                                    "a pid, after {:#x}, found {:#x} after {:#x}",
                                    at, count + 1, kMostSuspended, before, view.get(pid_),
                                    view.get(prev_)));
        }
        if (entry.suspended_owner_id_size() < kMostSuspendedPids) {
            entry.add_suspended_owner_id(*pid);
        }
        before = at;
        at = view.get(next_) == first ? 0 : view.get(next_);
    }
    if (before != last) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("process list at {:#x}: expected {:#x} as the last of {} members, "
                                "found {:#x}",
                                first, last, count, before));
    }
    entry.set_suspended(count);
    return {};
}

}  // namespace beamdump::beam
