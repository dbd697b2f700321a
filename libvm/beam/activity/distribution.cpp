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

}  // namespace

DistributionReader::DistributionReader(Vm& vm, PidWords pids, AtomWords atoms, LayoutNames& names)
    : vm_(&vm), pids_(pids), atoms_(atoms), lists_(vm, pids, names) {
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
    ASSIGN_OR_RETURN(const auto scheme, port_scheme(vm));
    ASSIGN_OR_RETURN(const auto own, read_node_name(vm));
    LayoutNames names(vm.layout());
    DistributionReader reader(vm, pids, atoms, names);
    RETURN_IF_ERROR(names.outcome());
    reader.scheme_ = scheme;
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
    const auto list = lists_.read(address + suspended_.offset);
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
    if (list) {
        entry.set_suspended(list->count);
        entry.mutable_suspended_owner_id()->Add(list->owner_ids.begin(), list->owner_ids.end());
    } else {
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

}  // namespace beamdump::beam
