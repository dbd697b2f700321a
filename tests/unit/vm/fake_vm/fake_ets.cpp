#include "fake_vm/fake_ets.h"

namespace beamdump::test {
namespace {

constexpr std::uint64_t kCounters = 2;
constexpr std::uint64_t kCacheLineBytes = 64;

}  // namespace

FakeStruct ets_scheduler(FakeVm& vm) {
    return vm.at("EtsScheduler", vm.globals().schedulers);
}

FakeStruct add_ets_table(FakeVm& vm, const FakeProcess& owner, std::string_view name,
                         std::initializer_list<std::string_view> flags) {
    // The largest of the structures that begin alike.
    const auto address = vm.make("DbHash").address();
    auto table = vm.at("DbTableCommon", address);
    std::uint64_t status = 0;
    for (const auto flag : flags) {
        status |= vm.constant(flag);
    }
    table.set("status", status)
        .set("owner", owner.pid())
        .set("heir", vm.atom("none"))
        .set("the_name", vm.atom(name))
        .set("keypos", 1)
        .set("btid", vm.add_magic_binary(address))
        .set("counters.nr_of_counters", kCounters)
        .set("all.next", address)
        .set("all.prev", address);
    auto scheduler = ets_scheduler(vm);
    scheduler.set("tables.count", scheduler.get("tables.count") + 1);
    if (const auto first = scheduler.get("tables.clist"); first == 0) {
        scheduler.set("tables.clist", address);
    } else {
        auto head = vm.at("DbTableCommon", first);
        auto last = vm.at("DbTableCommon", head.get("all.prev"));
        table.set("all.next", first).set("all.prev", last.address());
        last.set("all.next", address);
        head.set("all.prev", address);
    }
    return table;
}

FakeStruct decentralize(FakeVm& vm, FakeStruct table,
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& lines) {
    const auto line_bytes = vm.bytes("DecentralizedCounterSlot");
    const auto block = vm.heap.place((lines.size() + 2) * line_bytes + kCacheLineBytes, 8);
    auto counters = vm.at("DecentralizedCounters", block + 8);
    counters.set("block_start", block);
    for (std::size_t line = 0; line < lines.size(); ++line) {
        const auto at = counters.at("array") + line * line_bytes;
        vm.memory.put(at, lines[line].first);
        vm.memory.put(at + 8, lines[line].second);
    }
    table.set("counters.is_decentralized", 1).set("counters.u", counters.address());
    return counters;
}

FakeStruct make_ets_row(FakeVm& vm, const std::string& structure, std::uint64_t key,
                        std::uint64_t value) {
    constexpr std::uint64_t kRowWords = 3;
    auto row = vm.make(structure, kRowWords * 8);
    auto term = vm.at("DbRow", row.at("dbterm"));
    term.set("size", kRowWords);
    vm.memory.put(term.at("tpl"), vm.header(2, 0));
    vm.memory.put(term.at("tpl") + 8, key);
    vm.memory.put(term.at("tpl") + 16, value);
    return row;
}

void make_hash(FakeVm& vm, const FakeStruct& table) {
    constexpr std::uint64_t kSlotsOfATable = 256;
    vm.at("DbHash", table.address())
        .set("nactive", kSlotsOfATable)
        .set("szm", kSlotsOfATable - 1)
        .set("segtab", vm.heap.place_words({vm.heap.place(kSlotsOfATable * 8)}));
}

void add_to_slot(FakeVm& vm, const FakeStruct& table, std::uint64_t slot, FakeStruct row) {
    const auto hash = vm.at("DbHash", table.address());
    const auto at = vm.memory.word(hash.get("segtab")).value() + slot * 8;
    row.set("next", vm.memory.word(at).value());
    vm.memory.put(row.at("next") + 8, slot);
    vm.memory.put(at, row.address());
}

}  // namespace beamdump::test
