#include "fake_vm/standard_node.h"

#include "fake_vm/fake_queue.h"
#include "fake_vm/fake_relations.h"

#include <builtin_layouts.h>
#include <stdexcept>

namespace beamdump::test {
namespace {

// erl_db_hash.c: the first segment lacks slots, and is numbered as if it had them.
constexpr std::uint64_t kFirstSegmentSlots = 256;

}  // namespace

StandardNode::StandardNode(const beam::Layout& layout, const std::string& release)
    : vm(layout, release),
      code(vm.add_module("kernel", {"start", "loop", "init"})),
      fun_entry(vm.add_fun(code, 0, 1)),
      exported(vm.add_export(code, "start", 0)),
      remote_node(vm.add_node("other@there", 3)),
      init(vm, 1, code),
      auth(vm, 2, code),
      worker(vm, 3, code),
      binary(vm.add_binary(kBinaryText)) {
    vm.add_catch(1, code.functions[1] + 16);
    vm.register_name("init", init.address());
    vm.register_name("auth", auth.address());

    auth.build({vm.header(2, 0), vm.atom("state"), vm.atom(kCookie)});
    auth_table = add_table(vm, auth, {{vm.atom("other@there"), vm.atom(kOtherCookie)}});

    const auto bits = worker.binary(binary, kBinaryText.size());
    const auto local = worker.fun(fun_entry, {vm.small(7)});
    const auto external = worker.external_fun(exported);
    const auto list = worker.cons(vm.small(1), worker.cons(bits, vm.constant("nil")));
    worker.push(worker.tuple({vm.atom("state"), list, local, external}));
    worker.push(code.functions[1] + 24);
    const auto key = worker.tuple({vm.atom("key"), vm.small(42)});
    worker.dictionary({vm.constant("nil"), key, worker.cons(key, vm.constant("nil"))});
    worker.specific_data().set_word("data", 0, vm.atom("error_handler"));
    worker.fragment({vm.header(1, 0), vm.atom("in_a_fragment")});

    add_link(vm, init, worker.pid());
    add_link(vm, worker, init.pid());
    add_monitor(vm, worker, init);
    add_message(vm, worker, FakeQueue::kInner, vm.atom("hello"));
    add_combined_message(vm, worker, FakeQueue::kOuter, {vm.header(1, 0), vm.small(9)});
}

Address add_table(FakeVm& vm, FakeProcess& owner,
                  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& rows) {
    if (rows.size() > kFirstSegmentSlots) {
        throw std::logic_error("a fake table has one segment");
    }
    auto table = vm.make("DbTableHash");
    const auto binary = vm.add_magic_binary(table.address());
    const auto segment = vm.heap.place(kFirstSegmentSlots * 8);
    table.set("common.owner", owner.pid())
        .set("common.btid", binary)
        .set("nactive", rows.size())
        .set("segtab", vm.heap.place_words({segment}));
    for (std::size_t slot = 0; slot < rows.size(); ++slot) {
        auto row = vm.make("HashDbTerm", 32);
        vm.memory.put(row.at("dbterm.tpl"), vm.header(2, 0));
        vm.memory.put(row.at("dbterm.tpl") + 8, rows[slot].first);
        vm.memory.put(row.at("dbterm.tpl") + 16, rows[slot].second);
        vm.memory.put(segment + slot * 8, row.address());
    }
    owner.magic(binary);
    return table.address();
}

std::vector<std::string> layout_names() {
    std::vector<std::string> names;
    for (const auto& builtin : builtin_layouts()) {
        // The code of the nodes that are made here is of x86-64.
        if (builtin.architecture == Architecture::kX86_64) {
            names.emplace_back(builtin.name);
        }
    }
    return names;
}

beam::Layout layout_of(std::string_view name) {
    for (const auto& builtin : builtin_layouts()) {
        if (builtin.name == name) {
            const auto layout = beam::Layout::parse(builtin.json);
            return layout->at(erts_version(fake_erts(layout->release())));
        }
    }
    throw std::logic_error("no layout of that name");
}

}  // namespace beamdump::test
