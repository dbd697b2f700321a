#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/processes/relations.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::size_t kMaxReferenceNumbers = 5;
constexpr std::uint64_t kSuspendActive = std::uint64_t{1} << 63U;

}  // namespace

Address RelationWalker::remote_thing(std::uint64_t word) {
    return boxed_address(word);
}

/// Collects a page and passes it on when it is full.
class RelationWalker::Pager {
  public:
    Pager(std::size_t most, const std::function<Result<void>(records::Relations&)>& page)
        : most_(most), page_(page) {}
    records::Relations& current() { return relations_; }
    Result<void> added() {
        if (static_cast<std::size_t>(relations_.link_size()) +
                static_cast<std::size_t>(relations_.monitor_size()) <
            most_) {
            return {};
        }
        return flush();
    }
    Result<void> flush() {
        if (relations_.link_size() + relations_.monitor_size() == 0) {
            return {};
        }
        auto done = page_(relations_);
        relations_.Clear();
        return done;
    }

  private:
    std::size_t most_;
    const std::function<Result<void>(records::Relations&)>& page_;
    records::Relations relations_;
};

Result<RelationWalker> RelationWalker::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    RelationWalker walker(vm, pids, atoms, names);
    walker.type_ = RelationType::resolve(names);
    walker.suspend_bytes_ = names.bytes(runtime::ErtsMonitorSuspend::kName);
    walker.dist_ = names.field(runtime::ErtsMonitorDataExtended::dist);
    walker.dist_name_ = names.field(runtime::ErtsMonLnkDist::nodename);
    walker.elink_unlinking_ = names.field(runtime::ErtsELink::unlinking);
    walker.elink_bytes_ = names.bytes(runtime::ErtsELink::kName);
    walker.thing_bytes_ = names.bytes(runtime::ExternalThing::kName);
    walker.thing_header_ = names.field(runtime::ExternalThing::header);
    walker.thing_node_ = names.field(runtime::ExternalThing::node);
    walker.thing_data_ = names.field(runtime::ExternalThing::data);
    walker.ref_bytes_ = names.bytes(runtime::ErtsORefThing::kName);
    walker.ref_numbers_ = names.field(runtime::ErtsORefThing::numbers);
    walker.link_process_ = names.constant(runtime::constant::link_process);
    walker.link_port_ = names.constant(runtime::constant::link_port);
    walker.link_remote_ = names.constant(runtime::constant::link_dist_process);
    walker.link_remote_port_ = names.constant_if_any(runtime::constant::link_dist_port);
    walker.external_pid_tag_ = names.constant(runtime::constant::external_pid_subtag);
    walker.arity_shift_ = names.constant(runtime::constant::header_arity_shift);
    walker.external_ref_tag_ = names.constant(runtime::constant::external_ref_subtag);
    walker.spawn_pending_ = names.constant(runtime::constant::relation_flag_spawn_pending);
    walker.monitor_kinds_ = {
        {names.constant(runtime::constant::monitor_process), records::MONITOR_KIND_PROCESS},
        {names.constant(runtime::constant::monitor_port), records::MONITOR_KIND_PORT},
        {names.constant(runtime::constant::monitor_time_offset), records::MONITOR_KIND_TIME_OFFSET},
        {names.constant(runtime::constant::monitor_dist_process), records::MONITOR_KIND_REMOTE},
        {names.constant(runtime::constant::monitor_resource), records::MONITOR_KIND_RESOURCE},
        {names.constant(runtime::constant::monitor_node), records::MONITOR_KIND_NODE},
        {names.constant(runtime::constant::monitor_nodes), records::MONITOR_KIND_NODES},
        {names.constant(runtime::constant::monitor_suspend), records::MONITOR_KIND_SUSPEND},
        {names.constant(runtime::constant::monitor_alias), records::MONITOR_KIND_ALIAS}};
    // From OTP 24.3.4.3 and 25.0.4 on.
    if (const auto port = names.constant_if_any(runtime::constant::monitor_dist_port)) {
        walker.monitor_kinds_.emplace_back(*port, records::MONITOR_KIND_REMOTE);
    }
    RETURN_IF_ERROR(names.outcome());
    return walker;
}

bool RelationWalker::is_remote_link(std::uint64_t type) const {
    return type == link_remote_ || type == link_remote_port_;
}

records::MonitorKind RelationWalker::monitor_kind(std::uint64_t type) const {
    const auto found = std::ranges::find(monitor_kinds_, type,
                                         &std::pair<std::uint64_t, records::MonitorKind>::first);
    return found == monitor_kinds_.end() ? records::MONITOR_KIND_UNKNOWN : found->second;
}

records::LinkKind RelationWalker::link_kind(std::uint64_t type) const {
    if (type == link_process_) {
        return records::LINK_KIND_PROCESS;
    }
    if (type == link_port_) {
        return records::LINK_KIND_PORT;
    }
    return is_remote_link(type) ? records::LINK_KIND_REMOTE : records::LINK_KIND_UNKNOWN;
}

Result<void> RelationWalker::tree(Address root, std::uint64_t limit,
                                  const std::function<Result<void>(Address, StructView)>& visit) {
    std::vector<Address> pending;
    if (root != 0) {
        pending.push_back(root);
    }
    std::uint64_t seen = 0;
    while (!pending.empty()) {
        const auto address = pending.back();
        pending.pop_back();
        // A red-black tree of n nodes is at most 2 log n deep: the stack cannot outgrow that.
        if (++seen > limit || pending.size() > 256) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the tree at {:#x} does not end after {} nodes", root, seen));
        }
        auto node = OwnedStruct::read(vm_->memory(), address, node_.bytes);
        if (!node) {
            return wrap("a link or monitor", node.error());
        }
        RETURN_IF_ERROR(visit(address, node->view()));
        for (const auto child : {node->view().get(node_.right), node->view().get(node_.left)}) {
            if (child != 0) {
                pending.push_back(child);
            }
        }
    }
    return {};
}

Result<void> RelationWalker::list(Address first, std::uint64_t limit,
                                  const std::function<Result<void>(Address, StructView)>& visit) {
    std::uint64_t seen = 0;
    for (auto address = first; address != 0;) {
        if (++seen > limit) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the list at {:#x} does not end after {} nodes", first, limit));
        }
        auto node = OwnedStruct::read(vm_->memory(), address, node_.bytes);
        if (!node) {
            return wrap("a monitor", node.error());
        }
        RETURN_IF_ERROR(visit(address, node->view()));
        address = node->view().get(node_.next);
        if (address == first) {
            break;
        }
    }
    return {};
}

Result<std::optional<RelationWalker::Remote>> RelationWalker::remote(std::uint64_t word) {
    if (!is_boxed(word)) {
        return std::nullopt;
    }
    auto thing = OwnedStruct::read(vm_->memory(), boxed_address(word), thing_bytes_);
    if (!thing) {
        return wrap("a remote pid", thing.error());
    }
    if ((thing->view().get(thing_header_) & kHeaderTagMask) != external_pid_tag_) {
        return std::nullopt;
    }
    const auto data = thing->view().get(thing_data_);
    return Remote{format::owner_id_of(data & 0xffffffffU, data >> 32U),
                  thing->view().get(thing_node_)};
}

Result<void> RelationWalker::link(Address address, StructView node, records::Link& into) {
    const auto type = type_.of(node);
    into.set_kind(link_kind(type));
    into.set_other_word(node.get(node_.other));
    const bool extended = is_remote_link(type);
    const auto main_struct = extended ? address - node.get(node_.offset) : address;
    const auto unlinking = vm_->memory().word(
        main_struct + (extended ? elink_unlinking_.offset : monitor_.link_unlinking.offset));
    if (!unlinking) {
        return wrap("a link", unlinking.error());
    }
    into.set_unlinking(*unlinking != 0);
    ASSIGN_OR_RETURN(auto other, remote(node.get(node_.other)));
    if (other) {
        into.set_remote_owner_id(other->owner_id);
        into.set_remote_node_address(other->node);
    }
    return {};
}

Result<void> RelationWalker::reference(Address data, records::Monitor& into) {
    auto word = vm_->memory().word(data + monitor_.reference.offset);
    if (!word) {
        return wrap("a monitor's reference", word.error());
    }
    if (!is_boxed(*word)) {
        return {};
    }
    auto thing = OwnedStruct::read(vm_->memory(), boxed_address(*word), ref_bytes_ + 8);
    if (!thing) {
        return wrap("a monitor's reference", thing.error());
    }
    const auto view = thing->view();
    // An external reference: a count of numbers, then the numbers, after the node (24 bytes).
    const bool external = (view.get(thing_header_) & kHeaderTagMask) == external_ref_tag_;
    const auto first = external ? thing_data_.offset + 4 : ref_numbers_.offset;
    auto count = kReferenceNumbers;
    if (external) {
        count = std::min<std::size_t>(view.u32(Field{thing_data_.offset, 4}), kMaxReferenceNumbers);
    }
    if (auto done = numbers(boxed_address(*word) + first, count, into); !done) {
        return wrap("a monitor's reference", done.error());
    }
    return {};
}

Result<void> RelationWalker::numbers(Address address, std::size_t count, records::Monitor& into) {
    std::vector<std::uint32_t> numbers(count);
    RETURN_IF_ERROR(vm_->memory().read(address, std::as_writable_bytes(std::span(numbers))));
    into.mutable_reference()->Add(numbers.begin(), numbers.end());
    return {};
}

// The other side of a resource's monitor is not a term but the resource: data of a magic binary
// (erl_nif.c), which process_info shows as the magic binary's reference.
Result<void> RelationWalker::resource(Address data, records::Monitor& into) {
    const auto address = data - magic_.magic_data.offset + magic_.magic_numbers.offset;
    if (auto done = numbers(address, kReferenceNumbers, into); !done) {
        return wrap("a resource that monitors", done.error());
    }
    return {};
}

// erl_monitor_link.h, ERTS_MSUSPEND_STATE_*: the highest bit says "active", the others count.
Result<void> RelationWalker::suspension(Address data, records::Monitor& into) {
    const auto state = vm_->memory().word(data + monitor_.suspend_state.offset);
    if (!state) {
        return wrap("a process's suspension of another", state.error());
    }
    into.set_suspend_count(*state & ~kSuspendActive);
    into.set_suspend_active((*state & kSuspendActive) != 0);
    return {};
}

Result<void> RelationWalker::monitor(Address address, StructView node, records::Monitor& into) {
    const auto flags = node.get(node_.flags);
    const auto kind = monitor_kind(type_.of(node));
    const auto data = address - node.get(node_.offset);
    into.set_kind(kind);
    into.set_flags(static_cast<std::uint32_t>(flags));
    into.set_is_target((flags & node_.flag_target) != 0);
    if (kind == records::MONITOR_KIND_RESOURCE && into.is_target()) {
        return resource(node.get(node_.other), into);
    }
    into.set_other_word(node.get(node_.other));
    if (kind == records::MONITOR_KIND_SUSPEND) {
        return suspension(data, into);
    }
    RETURN_IF_ERROR(reference(data, into));
    if ((flags & node_.flag_name) != 0) {
        auto extended = OwnedStruct::read(vm_->memory(), data, monitor_.extended_bytes);
        if (!extended) {
            return wrap("a monitor by name", extended.error());
        }
        if (const auto atom = atoms_.index(extended->view().get(monitor_.name))) {
            into.set_name_atom(*atom);
        }
        if (const auto dist = extended->view().get(dist_); dist != 0) {
            const auto name = vm_->memory().word(dist + dist_name_.offset);
            if (const auto atom = name ? atoms_.index(*name) : std::nullopt) {
                into.set_node_atom(*atom);
            }
        }
    }
    ASSIGN_OR_RETURN(auto other, remote(node.get(node_.other)));
    if (other) {
        into.set_remote_owner_id(other->owner_id);
        into.set_remote_node_address(other->node);
    }
    return {};
}

// NC_HEAP_SIZE() (erl_node_container_utils.h).
Result<std::uint64_t> RelationWalker::term_words(std::uint64_t word) {
    if (!is_boxed(word)) {
        return 0;
    }
    const auto header = vm_->memory().word(boxed_address(word));
    if (!header) {
        return wrap("a monitor's terms", header.error());
    }
    return (*header >> arity_shift_) + 1;
}

// erts_monitor_size() (erl_monitor_link.c, OTP 25.2.3): the whole block, shared by its halves.
Result<std::uint64_t> RelationWalker::monitor_bytes(Address address, StructView node) {
    const auto kind = monitor_kind(type_.of(node));
    auto read = OwnedStruct::read(vm_->memory(), address - node.get(node_.offset), monitor_.bytes);
    if (!read) {
        return wrap("a monitor", read.error());
    }
    const auto data = read->view();
    const auto halves = std::max<std::uint64_t>(data.u32(monitor_.references), 1);
    if (kind == records::MONITOR_KIND_ALIAS) {
        return monitor_.bytes / halves;
    }
    if (kind == records::MONITOR_KIND_SUSPEND) {
        return suspend_bytes_ / halves;
    }
    if ((node.get(node_.flags) & node_.flag_extended) == 0) {
        return monitor_.heap_bytes / halves;
    }
    std::vector<std::uint64_t> terms;
    if (kind != records::MONITOR_KIND_NODE && kind != records::MONITOR_KIND_NODES) {
        terms.push_back(data.get(monitor_.reference));
    }
    if (kind == records::MONITOR_KIND_REMOTE) {
        terms.push_back(data.get(monitor_.origin_other));
        terms.push_back(data.get(monitor_.target_other));
    }
    std::uint64_t words = 0;
    for (const auto term : terms) {
        ASSIGN_OR_RETURN(auto counted, term_words(term));
        words += counted;
    }
    return (monitor_.extended_bytes - sizeof(std::uint64_t) + words * sizeof(std::uint64_t)) /
           halves;
}

Result<RelationWalker::Walked> RelationWalker::walk(
    const ProcessView& process, std::size_t most, std::uint64_t limit,
    const std::function<Result<void>(records::Relations&)>& page) {
    Walked walked;
    const std::function<Result<void>(records::Relations&)> counted =
        [&](records::Relations& relations) {
            walked.counts.add(relations, spawn_pending_);
            return page(relations);
        };
    Pager pager(most, counted);
    const auto visit_link = [&](Address address, StructView node) -> Result<void> {
        RETURN_IF_ERROR(link(address, node, *pager.current().add_link()));
        ++walked.links;
        // erts_link_size(): a link to a remote process is shared by its two halves.
        walked.bytes += is_remote_link(type_.of(node)) ? (elink_bytes_ + 24) / 2 : node_.bytes;
        return pager.added();
    };
    const auto visit_monitor = [&](Address address, StructView node) -> Result<void> {
        RETURN_IF_ERROR(monitor(address, node, *pager.current().add_monitor()));
        ++walked.monitors;
        ASSIGN_OR_RETURN(auto bytes, monitor_bytes(address, node));
        walked.bytes += bytes;
        return pager.added();
    };
    RETURN_IF_ERROR(tree(process.links, limit, visit_link));
    RETURN_IF_ERROR(tree(process.monitors, limit, visit_monitor));
    RETURN_IF_ERROR(list(process.local_targets, limit, visit_monitor));
    RETURN_IF_ERROR(pager.flush());
    return walked;
}

}  // namespace beamdump::beam
