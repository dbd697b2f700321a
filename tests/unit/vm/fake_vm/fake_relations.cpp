#include "fake_vm/fake_relations.h"

#include <array>
#include <deque>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kRed = 1;
constexpr std::array<std::uint32_t, 3> kNumbers = {101, 102, 103};

FakeStruct& set_type(FakeVm& vm, FakeStruct& node, std::uint64_t type) {
    return node.has("type")
               ? node.set("type", type)
               : node.set("flags", node.get("flags") | type << vm.constant("relation_type_shift"));
}

FakeStruct& add_flag(FakeVm& vm, FakeStruct& node, std::string_view flag) {
    return node.set("flags", node.get("flags") | vm.constant(flag));
}

/// Fills the tree level by level, so that it stays balanced.
void add_to_tree(FakeVm& vm, FakeStruct& process, std::string_view root, FakeStruct node) {
    if (process.get(root) == 0) {
        process.set(root, node.address());
        return;
    }
    std::deque<Address> level = {process.get(root)};
    for (;; level.pop_front()) {
        auto parent = vm.at("ErtsMonLnkNode", level.front());
        for (const auto* side : {"tree.left", "tree.right"}) {
            if (parent.get(side) == 0) {
                parent.set(side, node.address());
                node.set("list.next", parent.address() | kRed);
                return;
            }
            level.push_back(parent.get(side));
        }
    }
}

/// The list of targets is a ring.
void add_to_list(FakeVm& vm, FakeStruct& process, FakeStruct node) {
    const auto first = process.get("common.lt_monitors");
    if (first == 0) {
        node.set("list.next", node.address());
        process.set("common.lt_monitors", node.address());
        return;
    }
    auto head = vm.at("ErtsMonLnkNode", first);
    node.set("list.next", head.get("list.next"));
    head.set("list.next", node.address());
}

/// An ordinary reference of these words at an address.
std::uint64_t put_reference(FakeVm& vm, Address at) {
    const auto words = vm.bytes("ErtsORefThing") / 8;
    vm.memory.put(at, vm.header(words - 1, vm.constant("reference_subtag")));
    vm.memory.put(vm.at("ErtsORefThing", at).at("numbers"), kNumbers);
    return at | kBoxed;
}

}  // namespace

std::uint64_t remote_pid(FakeVm& vm, Address node, std::uint32_t number) {
    auto thing = vm.make("ExternalThing");
    thing.set("header", vm.header(3, vm.constant("external_pid_subtag")))
        .set("node", node)
        .set("data", number);
    return thing.address() | kBoxed;
}

FakeStruct add_link(FakeVm& vm, FakeProcess& process, std::uint64_t other) {
    auto node = vm.at("ErtsMonLnkNode", vm.make("ErtsILink").address());
    node.set("other", other);
    set_type(vm, node, vm.constant("link_process"));
    add_to_tree(vm, process.structure(), "common.links", node);
    return node;
}

FakeStruct add_remote_link(FakeVm& vm, FakeProcess& process, Address node, std::uint32_t number) {
    auto link = vm.make("ErtsELink");
    auto half = vm.at("ErtsMonLnkNode", link.address());
    half.set("other", remote_pid(vm, node, number));
    set_type(vm, half, vm.constant("link_dist_process"));
    add_to_tree(vm, process.structure(), "common.links", half);
    return half;
}

FakeMonitor add_monitor(FakeVm& vm, FakeProcess& origin, FakeProcess& target,
                        std::string_view name) {
    const auto block =
        vm.make(name.empty() ? "ErtsMonitorDataHeap" : "ErtsMonitorDataExtended", 64);
    auto data = vm.at("ErtsMonitorData", block.address());
    const auto node_bytes = vm.bytes("ErtsMonLnkNode");
    FakeMonitor monitor{vm.at("ErtsMonLnkNode", block.address()),
                        vm.at("ErtsMonLnkNode", block.address() + node_bytes), block.address()};
    set_type(vm, monitor.origin, vm.constant("monitor_process"));
    set_type(vm, monitor.target, vm.constant("monitor_process"));
    add_flag(vm, monitor.target, "relation_flag_target");
    add_flag(vm, monitor.origin, "relation_flag_in_table");
    add_flag(vm, monitor.target, "relation_flag_in_table");
    monitor.origin.set("other", target.pid());
    monitor.target.set("other", origin.pid()).set("offset", node_bytes);
    data.set("refc", 2);
    if (name.empty()) {
        data.set("ref", put_reference(vm, block.at("ref_heap")));
    } else {
        data.set("ref", put_reference(vm, vm.heap.place(vm.bytes("ErtsORefThing"))));
        vm.at("ErtsMonitorDataExtended", block.address()).set("name", vm.atom(name));
        for (auto* half : {&monitor.origin, &monitor.target}) {
            add_flag(vm, *half, "relation_flag_extended");
            add_flag(vm, *half, "relation_flag_name");
        }
    }
    add_to_tree(vm, origin.structure(), "common.monitors", monitor.origin);
    add_to_list(vm, target.structure(), monitor.target);
    return monitor;
}

FakeStruct add_suspension(FakeVm& vm, FakeProcess& process, std::uint64_t other,
                          std::uint64_t state) {
    auto block = vm.make("ErtsMonitorSuspend");
    block.set("state", state);
    vm.at("ErtsMonitorData", block.address()).set("refc", 1);
    auto node = vm.at("ErtsMonLnkNode", block.address());
    node.set("other", other);
    set_type(vm, node, vm.constant("monitor_suspend"));
    add_to_tree(vm, process.structure(), "common.monitors", node);
    return node;
}

FakeStruct add_resource_monitor(FakeVm& vm, FakeProcess& process, Address magic_binary) {
    auto block = vm.make("ErtsMonitorDataHeap");
    vm.at("ErtsMonitorData", block.address()).set("refc", 2);
    const auto node_bytes = vm.bytes("ErtsMonLnkNode");
    auto node = vm.at("ErtsMonLnkNode", block.address() + node_bytes);
    node.set("other", vm.at("ErtsMagicBinary", magic_binary).at("unaligned_data"))
        .set("offset", node_bytes);
    set_type(vm, node, vm.constant("monitor_resource"));
    add_flag(vm, node, "relation_flag_target");
    add_to_list(vm, process.structure(), node);
    return node;
}

FakeStruct add_alias(FakeVm& vm, FakeProcess& process) {
    auto block = vm.make("ErtsMonitorDataHeap");
    vm.at("ErtsMonitorData", block.address())
        .set("refc", 1)
        .set("ref", put_reference(vm, block.at("ref_heap")));
    auto node = vm.at("ErtsMonLnkNode", block.address());
    node.set("other", process.pid());
    set_type(vm, node, vm.constant("monitor_alias"));
    add_to_tree(vm, process.structure(), "common.monitors", node);
    return node;
}

}  // namespace beamdump::test
