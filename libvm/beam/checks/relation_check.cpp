#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/relation_check.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace beamdump::beam {
namespace {

constexpr std::size_t kNodesEach = 32;
constexpr std::uint64_t kMaxRelationReferences =
    16;  // each half holds one, its maker another for a while
constexpr std::uint64_t kImmediateMask = 0x3f;
constexpr std::uint64_t kPortMask = 0xf;
constexpr std::uint64_t kColour = 1;

}  // namespace

void RelationCheck::resolve(LayoutNames& names) {
    type_ = RelationType::resolve(names);
    heap_ref_ = names.field(runtime::ErtsMonitorDataHeap::ref_heap);
    monitor_process_ = names.constant(runtime::constant::monitor_process);
    last_monitor_ = names.constant(runtime::constant::monitor_alias);
    first_link_ = names.constant(runtime::constant::link_process);
    last_link_ =
        names.constant({runtime::constant::link_dist_port, runtime::constant::link_dist_process});
    port_tag_ = names.constant(runtime::constant::port_tag);
    atom_tag_ = names.constant(runtime::constant::atom_tag);
    reference_tag_ = names.constant(runtime::constant::reference_subtag);
}

Result<RelationCheck> RelationCheck::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    LayoutNames names(vm.layout());
    RelationCheck check(vm, pids, names);
    check.resolve(names);
    RETURN_IF_ERROR(names.outcome());
    // A monitor's data begins with its two halves, which are nodes; what is more than them comes
    // after it.
    if (check.monitor_.target_other.offset !=
            check.monitor_.origin_other.offset + check.node_.bytes ||
        check.monitor_.origin_other.offset != check.node_.other.offset ||
        check.monitor_.reference.offset < 2 * check.node_.bytes ||
        check.heap_ref_.offset != check.monitor_.bytes ||
        check.monitor_.name.offset != check.monitor_.bytes ||
        check.monitor_.suspend_state.offset < check.monitor_.bytes ||
        check.monitor_.link_unlinking.offset != check.node_.bytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected ErtsMonitorData to hold two nodes of {} bytes, and what "
                                "extends them to begin behind them",
                                check.node_.bytes));
    }
    return check;
}

bool RelationCheck::check(const ProcessView& process, Checks& checks) {
    if (process.void_reason != records::VOID_REASON_NONE) {
        return false;
    }
    tree(process.links, Kind::kLink, checks);
    tree(process.monitors, Kind::kMonitor, checks);
    targets(process.local_targets, checks);
    return true;
}

void RelationCheck::tree(Address root, Kind kind, Checks& checks) {
    struct Reached {
        Address address;
        Address parent;
        bool only_child;
    };
    std::vector<Reached> pending;
    if (root != 0) {
        pending.push_back({root, 0, false});
    }
    for (std::size_t seen = 0; seen < kNodesEach && !pending.empty(); ++seen) {
        const auto [address, parent, only_child] = pending.back();
        pending.pop_back();
        auto node = OwnedStruct::read(vm_->memory(), address, node_.bytes);
        checks.expect(kCounted, node.has_value(), [&] { return node.error().message; });
        if (!node) {
            return;
        }
        if (kind == Kind::kLink) {
            link(node->view(), checks);
        } else {
            monitor(address, node->view(), kind, checks);
        }
        // A tree node's parent is in the field of a list node's next (erl_monitor_link.h), with the
        // colour in its lowest bit.
        const auto above = node->view().get(node_.next) & ~kColour;
        checks.expect("parents in trees of relations", above == parent, [&] {
            return fmt::format("expected {:#x} as parent of {:#x}, found {:#x}", parent, address,
                               above);
        });
        const std::array children = {node->view().get(node_.left), node->view().get(node_.right)};
        const auto count = std::ranges::count_if(children, [](Address it) { return it != 0; });
        // Red-black tree: an only child is red and has no children.
        if (only_child) {
            checks.expect("balance of trees of relations", count == 0, [&] {
                return fmt::format("expected nothing below {:#x}, the only one below {:#x}",
                                   address, parent);
            });
        }
        for (const auto child : children) {
            checks.expect("trees of relations",
                          child == 0 || (vm_->plausible(child, 8) && children[0] != children[1]),
                          [&] { return fmt::format("expected a node, found {:#x}", child); });
            if (child != 0) {
                pending.push_back({child, address, count == 1});
            }
        }
    }
}

void RelationCheck::targets(Address first, Checks& checks) {
    auto address = first;
    for (std::size_t seen = 0; seen < kNodesEach && address != 0; ++seen) {
        auto node = OwnedStruct::read(vm_->memory(), address, node_.bytes);
        checks.expect(kCounted, node.has_value(), [&] { return node.error().message; });
        if (!node) {
            return;
        }
        monitor(address, node->view(), Kind::kTarget, checks);
        address = node->view().get(node_.next);
        if (address == first) {
            return;
        }
    }
}

bool RelationCheck::party(std::uint64_t word) const {
    return pids_.owner_id(word).has_value() || (word & kPortMask) == port_tag_ || is_boxed(word);
}

/// Whether the target's half names the process that monitors. A half that is on its way as a signal
/// is in no table, and may hold the reason why the target ended (erl_proc_sig_queue.c,
/// erts_proc_sig_send_monitor_down()): a word that points nowhere.
bool RelationCheck::monitoring(const StructView& data) const {
    const auto other = data.get(monitor_.target_other);
    if (pids_.owner_id(other)) {
        return true;
    }
    const Field flags{node_.bytes + node_.flags.offset, node_.flags.bytes};
    const bool in_table = node_.flag_in_table && (data.get(flags) & *node_.flag_in_table) != 0;
    return !in_table && (other & kPrimaryMask) == kPrimaryImmediate;
}

void RelationCheck::link(const StructView& node, Checks& checks) {
    const auto type = type_.of(node);
    const auto other = node.get(node_.other);
    checks.expect("links", type >= first_link_ && type <= last_link_ && party(other), [&] {
        return fmt::format(
            "expected a link of type {} to {} to a pid or port, found type {} to "
            "{:#x}",
            first_link_, last_link_, type, other);
    });
    // A link between this node's processes is a structure of its own, not half of a monitor.
    if (type == first_link_) {
        checks.expect("links' offsets", node.get(node_.offset) == 0, [&] {
            return fmt::format("expected offset 0 for a link, found {}", node.get(node_.offset));
        });
    }
}

void RelationCheck::monitor(Address address, const StructView& node, Kind kind, Checks& checks) {
    const auto type = type_.of(node);
    checks.expect("monitors", type <= last_monitor_, [&] {
        return fmt::format("expected a monitor's type, at most {}, found {}", last_monitor_, type);
    });
    if (type != monitor_process_) {
        return;
    }
    const bool target = (node.get(node_.flags) & node_.flag_target) != 0;
    const auto expected = kind == Kind::kTarget ? node_.bytes : 0U;
    checks.expect("halves of monitors",
                  target == (kind == Kind::kTarget) && node.get(node_.offset) == expected, [&] {
                      return fmt::format(
                          "expected {} of a monitor, {} bytes into it, found flags "
                          "{:#x} and {} bytes",
                          target ? "the target" : "the origin", expected, node.get(node_.flags),
                          node.get(node_.offset));
                  });
    halves(address - node.get(node_.offset), node, checks);
}

void RelationCheck::halves(Address data, const StructView& node, Checks& checks) {
    const bool extended = (node.get(node_.flags) & node_.flag_extended) != 0;
    auto read = OwnedStruct::read(vm_->memory(), data,
                                  extended ? monitor_.extended_bytes : monitor_.heap_bytes);
    checks.expect("monitors' data", read.has_value(), [&] { return read.error().message; });
    if (!read) {
        return;
    }
    const auto whole = read->view();
    const bool named = (node.get(node_.flags) & node_.flag_name) != 0;
    const auto monitored = whole.get(monitor_.origin_other);
    const auto monitors = whole.get(monitor_.target_other);
    const auto count = whole.get(monitor_.references);
    checks.expect("parties of monitors",
                  monitoring(whole) && pids_.owner_id(monitored).has_value() && count >= 1 &&
                      count <= kMaxRelationReferences,
                  [&] {
                      return fmt::format(
                          "expected two pids and a few references, found {:#x}, "
                          "{:#x} and {}",
                          monitors, monitored, count);
                  });
    if (named) {
        const auto name = extended ? whole.get(monitor_.name) : 0;
        checks.expect("named monitors", (name & kImmediateMask) == atom_tag_, [&] {
            return fmt::format("expected an extended monitor with a name, found {:#x}", name);
        });
    }
    const auto ref = whole.get(monitor_.reference);
    const auto header = is_boxed(ref) ? vm_->memory().word(boxed_address(ref))
                                      : fail(ErrorCode::kImplausible, "no reference");
    const bool stands = extended || boxed_address(ref) == data + heap_ref_.offset;
    checks.expect("references of monitors",
                  header && (*header & kHeaderTagMask) == reference_tag_ && stands, [&] {
                      return fmt::format("expected a reference{}, found {:#x}",
                                         extended ? "" : " behind the monitor's data", ref);
                  });
}

}  // namespace beamdump::beam
