#include "fake_vm/each_layout.h"
#include "fake_vm/fake_queue.h"
#include "fake_vm/fake_relations.h"

#include <libvm/beam/checks/process_sample.h>
#include <libvm/beam/checks/vm_check.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::HasSubstr;

/// What the checks say of a node with one thing wrong.
class VmCheck : public OnStandardNode {
  protected:
    std::string verdict() {
        auto checked = check_steadily(fresh(), 1);
        return checked ? "no error" : checked.error().message;
    }
    std::string with(FakeStruct where, std::string_view field, std::uint64_t value) {
        const auto before = where.get(field);
        where.set(field, value);
        auto said = verdict();
        where.set(field, before);
        return said;
    }
    std::string with_word(Address at, std::uint64_t value) {
        const auto before = node.vm.memory.word(at).value();
        node.vm.memory.put(at, value);
        auto said = verdict();
        node.vm.memory.put(at, before);
        return said;
    }
    FakeStruct& worker() { return node.worker.structure(); }
    FakeStruct relation(std::string_view root) {
        return node.vm.at("ErtsMonLnkNode", worker().get(root));
    }
    void TearDown() override { EXPECT_EQ(verdict(), "no error") << "the test left damage"; }
};

TEST_P(VmCheck, NoticesWrongProcesses) {
    const auto far = std::uint64_t{1} << 60U;
    EXPECT_THAT(with(worker(), "htop", worker().get("hend") + 8), HasSubstr("heap bounds"));
    EXPECT_THAT(with(worker(), "heap_sz", 7), HasSubstr("heap size"));
    EXPECT_THAT(with(worker(), "high_water", 8), HasSubstr("high_water"));
    EXPECT_THAT(with(worker(), "i", node.code.end), HasSubstr("instruction pointer"));
    EXPECT_THAT(with(worker(), "reds", far), HasSubstr("reductions"));
    EXPECT_THAT(with(worker(), "gen_gcs", 65535), HasSubstr("no error"));
    EXPECT_THAT(with(worker(), "max_gen_gcs", 0), HasSubstr("no error"));
    EXPECT_THAT(with(worker(), "rcount", 1U << 21U), HasSubstr("suspend count"));
    EXPECT_THAT(with(worker(), "group_leader", node.vm.small(3)), HasSubstr("group leader"));
    EXPECT_THAT(with(worker(), "arg_reg", kNowhere), HasSubstr("argument registers"));
    EXPECT_THAT(with(worker(), "catches", 1U << 25U), HasSubstr("catches"));
    EXPECT_THAT(with(worker(), "mbuf", kNowhere), HasSubstr("heap fragments"));
    EXPECT_THAT(with(worker(), "psd", kNowhere), HasSubstr("specific data"));
    EXPECT_THAT(with(worker(), "off_heap.first", kNowhere), HasSubstr("off-heap list"));
    if (worker().has("wrt_bins")) {
        EXPECT_THAT(with(worker(), "wrt_bins", kNowhere), HasSubstr("writable binaries"));
    }
    EXPECT_THAT(with(worker(), "msg_frag", kNowhere), HasSubstr("received messages"));
    EXPECT_THAT(with(worker(), "mbuf_sz", far), HasSubstr("fragment words"));
    EXPECT_THAT(with(worker(), "min_heap_size", far), HasSubstr("min_heap_size"));
    EXPECT_THAT(with(worker(), "sig_qs.first", 0), HasSubstr("message counts and queues"));
    EXPECT_THAT(with(worker(), "dictionary", kNowhere), HasSubstr("dictionary"));
    EXPECT_THAT(with(worker(), "current", kNowhere), HasSubstr("current function"));
    EXPECT_THAT(with(worker(), "common.id", node.vm.pid(9)), HasSubstr("lead back to their slots"));
}

TEST_P(VmCheck, NoticesWrongNamesStacksAndDictionaries) {
    auto reg = node.vm.at("RegProc", node.init.structure().get("common.reg"));
    EXPECT_THAT(with(reg, "p", node.worker.address()), HasSubstr("registered name"));
    EXPECT_THAT(with(reg, "name", node.vm.small(1)), HasSubstr("registered name"));
    EXPECT_THAT(with_word(worker().get("stop"), node.code.end), HasSubstr("return addresses"));
    auto dictionary = node.vm.at("ProcDict", worker().get("dictionary"));
    EXPECT_THAT(with(dictionary, "arraySize", 2), HasSubstr("dictionary sizes"));
    EXPECT_THAT(with_word(dictionary.at("data"), node.vm.small(3)), HasSubstr("dictionary slots"));
    EXPECT_THAT(with_word(worker().at("u.initial"), node.vm.small(3)), HasSubstr("initial call"));
}

TEST_P(VmCheck, PassesOverProcessesInMotion) {
    worker().set("state", node.vm.constant("state_running")).set("htop", 8);
    const auto said = verdict();
    worker().set("htop", worker().get("heap")).set("state", 0);
    EXPECT_EQ(said, "no error");
}

TEST_P(VmCheck, NoticesWrongTables) {
    auto& fake = node.vm;
    const auto& globals = fake.globals();
    EXPECT_THAT(with(fake.at("IndexTable", globals.atoms), "entries", 0), HasSubstr("atom 0"));
    EXPECT_THAT(with(fake.at("ErlNode", fake.this_node()), "sysname", fake.atom("nonode")),
                HasSubstr("expected NAME@HOST, found nonode"));
    EXPECT_THAT(with_word(fake.at("ErtsCodeInfo", node.code.infos[0]).at("mfa"), 0),
                HasSubstr("expected module, function and arity"));
    EXPECT_THAT(with_word(fake.at("BeamCodeHeader", node.code.header).at("functions"),
                          fake.at("Export", node.exported).at("info.mfa") -
                              fake.at("ErtsCodeInfo", 0).at("mfa")),
                HasSubstr("expected functions inside"));
    auto fun = fake.at("ErlFunEntry", node.fun_entry);
    EXPECT_THAT(with(fun, "arity", 256), HasSubstr("funs' numbers"));
    const bool indexed = fake.layout().field(beam::runtime::ErlFunEntry::dispatch)->bytes > 8;
    const auto code_index = indexed ? FakeVm::kActiveCode : 0;
    EXPECT_THAT(with_word(fun.at("dispatch") + code_index * 8, kNowhere), HasSubstr("funs' code"));
    EXPECT_THAT(with_word(fake.at("Export", node.exported).at("info.mfa"), 0),
                HasSubstr("expected two atoms"));
    EXPECT_THAT(with(fake.at("Hash", globals.nodes), "bucket", kNowhere),
                HasSubstr("expected a structure, found no memory"));
    EXPECT_THAT(with(fake.at("ErtsPTab", globals.processes), "max", 1000),
                HasSubstr("process table"));
}

TEST_P(VmCheck, NoticesWrongRelations) {
    auto link = relation("common.links");
    auto monitor = relation("common.monitors");
    auto target = node.vm.at("ErtsMonLnkNode", node.init.structure().get("common.lt_monitors"));
    auto data = node.vm.at("ErtsMonitorData", monitor.address());
    EXPECT_THAT(with(link, "other", node.vm.small(3)), HasSubstr("links"));
    EXPECT_THAT(with(link, "offset", 8), HasSubstr("links' offsets"));
    EXPECT_THAT(with(link, "tree.left", kNowhere), HasSubstr("relations: 1 of"));
    EXPECT_THAT(with(link, "list.next", 64), HasSubstr("parents in trees"));
    EXPECT_THAT(with(monitor, "offset", 8), HasSubstr("halves of monitors"));
    EXPECT_THAT(with(target, "offset", 0), HasSubstr("halves of monitors"));
    EXPECT_THAT(with(data, "refc", 0), HasSubstr("parties of monitors"));
    EXPECT_THAT(with(data, "ref", node.vm.small(3)), HasSubstr("references of monitors"));
    EXPECT_THAT(with(data, "target.other", node.vm.small(3)), HasSubstr("parties of monitors"));
    EXPECT_THAT(
        with(monitor, "flags", monitor.get("flags") | node.vm.constant("relation_flag_name")),
        HasSubstr("named monitors"));
    EXPECT_THAT(with(node.init.structure(), "common.lt_monitors", kNowhere), HasSubstr("targets"));
}

TEST_P(VmCheck, NoticesTreesThatAreNotBalanced) {
    FakeProcess process(node.vm, 40, node.code);
    auto root = add_link(node.vm, process, node.init.pid());
    auto below = add_link(node.vm, process, node.auth.pid());
    EXPECT_EQ(verdict(), "no error");
    auto last = add_link(node.vm, process, node.vm.pid(50));
    // The third below the second, which is alone below the first.
    const auto room = root.get("tree.left") == last.address() ? "tree.left" : "tree.right";
    root.set(room, 0);
    below.set("tree.left", last.address());
    last.set("list.next", below.address());
    EXPECT_THAT(verdict(), HasSubstr("balance of trees"));
    below.set("tree.left", 0);
}

TEST_P(VmCheck, NoticesWrongTerms) {
    auto& fake = node.vm;
    auto binary = fake.at("Binary", node.binary);
    EXPECT_THAT(with(binary, "refc", 0), HasSubstr("binaries"));
    EXPECT_THAT(with(binary, "orig_size", std::uint64_t{1} << 43U), HasSubstr("binaries"));
    EXPECT_THAT(with(fake.at("ErlFunEntry", node.fun_entry), "module", fake.small(1)),
                HasSubstr("module's atom"));
    // The tuple on the stack: an element that is not a term, a header of no object, one too long.
    const auto tuple = fake.memory.word(worker().get("stop") + 8).value() & ~std::uint64_t{7};
    EXPECT_THAT(with_word(tuple + 16, kNowhere | 1U), HasSubstr("terms"));
    EXPECT_THAT(with_word(tuple + 16, 0x2b), HasSubstr("words of terms"));
    EXPECT_THAT(with_word(tuple, fake.header(1U << 23U, 0)), HasSubstr("terms"));
    EXPECT_THAT(with_word(tuple + 24, tuple | kBoxed), HasSubstr("no error"));
    const auto fun = fake.memory.word(tuple + 24).value() & ~std::uint64_t{7};
    EXPECT_THAT(with(fake.at("ErlFunThing", fun), "entry", kNowhere), HasSubstr("funs"));
    const auto external = fake.memory.word(tuple + 32).value() & ~std::uint64_t{7};
    EXPECT_THAT(with(fake.at("ErlFunThing", external), "entry", kNowhere), HasSubstr("funs"));
}

TEST_P(VmCheck, ProcessesThatRanMeanwhileDoNotCount) {
    auto& memory = node.vm.memory;
    const auto tuple = memory.word(worker().get("stop") + 8).value() & ~std::uint64_t{7};
    const auto element = memory.word(tuple + 16).value();
    const auto runs = worker().get("reds");
    memory.put(tuple + 16, std::uint64_t{0x2b});
    EXPECT_THAT(verdict(), HasSubstr("words of terms"));
    // Each reading of its structure finds that it ran since the one before.
    memory.before_read([&](memory::AddressRange read) {
        if (read.begin <= worker().address() && worker().address() < read.end) {
            worker().set("reds", worker().get("reds") + 1);
        }
    });
    EXPECT_EQ(verdict(), "no error");
    memory.before_read({});
    memory.put(tuple + 16, element);
    worker().set("reds", runs);
}

TEST_P(VmCheck, ListsThatDoNotEndAreFollowedOnce) {
    const auto cell = node.vm.heap.place(16);
    node.vm.memory.put(cell, node.vm.small(1));
    node.vm.memory.put(cell + 8, cell | 1U);
    node.worker.push(cell | 1U);
    node.worker.push(node.code.functions[1]);
    EXPECT_EQ(verdict(), "no error");
}

TEST_P(VmCheck, SamplesAtMostWhatIsAskedFor) {
    auto lookup = code();
    const auto count = [&](const ProcessSample& sample) {
        Checks checks;
        return check_processes_at_rest(
                   *vm, lookup, sample,
                   [](const ProcessView&, const StructView&, Checks&) { return true; }, checks)
            .value();
    };
    EXPECT_EQ(count({2, 100}), 2U);
    EXPECT_EQ(count({100, 1}), 1U);
    EXPECT_EQ(count({}), 3U);
}

/// What the checks find of processes that change between two reads.
class MovingProcesses : public VmCheck {
  protected:
    /// Calls `change` with a number, from 1 on, when a look at the process ends: before its
    /// structure alone is read, to see whether it is the same.
    void at_each_look(const FakeProcess& process, const std::function<void(int)>& change) {
        const auto address = process.address();
        node.vm.memory.before_read([address, change, looks = 0](memory::AddressRange read) mutable {
            if (read.begin == address) {
                change(++looks);
            }
        });
    }
    void TearDown() override {
        node.vm.memory.before_read({});
        VmCheck::TearDown();
    }
};

TEST_P(MovingProcesses, AMonitorWhoseTargetHasEndedIsOnItsWay) {
    auto monitor = relation("common.monitors");
    auto target = node.vm.at("ErtsMonLnkNode", node.init.structure().get("common.lt_monitors"));
    const auto flags = target.get("flags");
    const auto other = target.get("other");
    // It is taken out of the list of targets, and its `other` holds the reason.
    target.set("flags", flags & ~node.vm.constant("relation_flag_in_table"))
        .set("other", node.vm.atom("normal"));
    const auto list = node.init.structure().get("common.lt_monitors");
    node.init.structure().set("common.lt_monitors", 0);
    EXPECT_EQ(verdict(), "no error");
    // A word that leads somewhere is no reason.
    target.set("other", std::uint64_t{kNowhere} | kBoxed);
    EXPECT_THAT(verdict(), HasSubstr("parties of monitors"));
    target.set("other", node.vm.atom("normal"));
    // In a list it must name the process.
    target.set("flags", flags);
    EXPECT_THAT(verdict(), HasSubstr("parties of monitors"));
    target.set("other", other);
    node.init.structure().set("common.lt_monitors", list);
    EXPECT_EQ(monitor.get("other"), node.init.pid());
}

TEST_P(MovingProcesses, AMisfitMustBeFoundTwice) {
    auto data = node.vm.at("ErtsMonitorData", relation("common.monitors").address());
    const auto count = data.get("refc");
    // Whoever holds the other half changes it: the monitored process, which is looked at first,
    // does not run.
    data.set("refc", 0);
    int seen = 0;
    at_each_look(node.init, [&](int looks) {
        // The first look is that of the check of processes.
        data.set("refc", looks < 2 ? 0 : count);
        seen = looks;
    });
    EXPECT_EQ(verdict(), "no error");
    EXPECT_EQ(seen, 4);  // relations are looked at twice, terms once
    node.vm.memory.before_read({});
    data.set("refc", 0);
    EXPECT_THAT(verdict(), HasSubstr("parties of monitors"));
    data.set("refc", count);
}

TEST_P(MovingProcesses, AMisfitOfAProcessThatRanProvesNothing) {
    const auto heap_words = worker().get("heap_sz");
    const auto runs = worker().get("reds");
    worker().set("heap_sz", 7);
    at_each_look(node.worker, [&](int) { worker().set("reds", worker().get("reds") + 1); });
    EXPECT_EQ(verdict(), "no error");
    node.vm.memory.before_read({});
    EXPECT_THAT(verdict(), HasSubstr("heap size"));
    worker().set("heap_sz", heap_words).set("reds", runs);
}

TEST_P(MovingProcesses, OneThatEndsMeanwhileProvesNothing) {
    // Its memory is another's by the time that it is read; later its slot is empty.
    const auto pid = worker().get("common.id");
    worker().set("common.id", 0);
    EXPECT_THAT(verdict(), HasSubstr("lead back to their slots"));
    at_each_look(node.worker, [&](int) { node.vm.put_slot(node.worker.slot(), 0); });
    EXPECT_EQ(verdict(), "no error");
    node.vm.memory.before_read({});
    worker().set("common.id", pid);
    node.vm.put_slot(node.worker.slot(), worker().address());
}

BEAMDUMP_FOR_EACH_LAYOUT(MovingProcesses);
BEAMDUMP_FOR_EACH_LAYOUT(VmCheck);

}  // namespace
}  // namespace beamdump::beam
