#include "fake_vm/each_layout.h"

#include <libvm/beam/checks/vm_check.h>

#include <gmock/gmock.h>

#include <array>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::HasSubstr;

class Locate : public EachLayout {};

TEST_P(Locate, FindsTheSameByShapeAndByName) {
    StandardNode node(layout);
    for (const auto symbols : {FakeVm::Symbols::kNone, FakeVm::Symbols::kAll}) {
        const auto vm = node.vm.locate(symbols);
        ASSERT_TRUE(vm) << vm.error().message;
        const auto& tables = (*vm)->tables();
        const auto& globals = node.vm.globals();
        EXPECT_EQ(tables.processes, globals.processes);
        EXPECT_EQ(tables.ports, globals.ports);
        EXPECT_EQ(tables.atoms, globals.atoms);
        EXPECT_EQ(tables.modules, globals.modules);
        EXPECT_EQ(tables.exports, globals.exports);
        EXPECT_EQ(tables.funs, globals.funs);
        EXPECT_EQ(tables.nodes, globals.nodes);
        EXPECT_EQ(tables.registered, globals.registered);
        EXPECT_EQ(tables.catches, globals.catches);
        EXPECT_EQ(tables.active_code_index, globals.active_code_index);
        const auto& facts = (*vm)->facts();
        EXPECT_EQ(facts.this_node, node.vm.this_node());
        EXPECT_EQ(facts.literals_start, node.vm.literals.range().begin);
        EXPECT_EQ(facts.literals_bytes, node.vm.literals.range().bytes());
        EXPECT_EQ(facts.active_code_index, FakeVm::kActiveCode);
        EXPECT_EQ(facts.schedulers, 1U);
        EXPECT_EQ(facts.dirty_cpu_schedulers, 2U);
        EXPECT_EQ(facts.dirty_io_schedulers, 3U);
        EXPECT_EQ(facts.otp_release, layout.release());
        EXPECT_EQ(facts.erts_version, fake_erts(facts.otp_release));
        EXPECT_TRUE(facts.jit);
        EXPECT_THAT(tables.code_points,
                    ::testing::Contains(::testing::Field(&Found::address, node.vm.normal_exit())));
    }
}

TEST_P(Locate, AllChecksPassAndMeetEachKind) {
    StandardNode node(layout);
    const auto vm = node.vm.located(FakeVm::Symbols::kNone);
    const auto report = check_steadily(*vm, 1);
    ASSERT_TRUE(report) << report.error().message;
    for (const auto stage : kCheckStages) {
        EXPECT_EQ(missing_kind(stage, *report).value_or("all"), "all");
    }
    EXPECT_EQ(report->processes, 3U);
}

/// Why a node without symbols is not located.
std::string refused(FakeVm& fake) {
    const auto vm = fake.locate(FakeVm::Symbols::kNone);
    return vm ? "no error" : vm.error().message;
}

TEST_P(Locate, RefusesTablesThatAreNotOrTwice) {
    StandardNode node(layout);
    auto& fake = node.vm;
    auto nodes = fake.at("Hash", fake.globals().nodes);
    const auto name = nodes.get("name");
    nodes.set("name", kNowhere);
    EXPECT_THAT(refused(fake), HasSubstr("one hash table named \"node_table\", found none"));
    nodes.set("name", name).set("shift", 20);
    EXPECT_THAT(refused(fake), HasSubstr("found none"));
    nodes.set("shift", 60);
    const auto second = fake.data.place(fake.bytes("Hash"));
    fake.at("Hash", second).set("name", name).set("shift", 60).set("bucket", nodes.get("bucket"));
    EXPECT_THAT(refused(fake), HasSubstr("found it at"));
    fake.at("Hash", second).set("name", 0);
    EXPECT_EQ(refused(fake), "no error");
    // One of the three tables of code lacks.
    fake.at("Hash", fake.globals().modules).set("name", kNowhere);
    EXPECT_THAT(refused(fake), HasSubstr("expected three index tables"));
}

TEST_P(Locate, RefusesProcessTablesWhoseMembersAreOthers) {
    StandardNode node(layout);
    auto& fake = node.vm;
    for (auto* process : {&node.init, &node.auth, &node.worker}) {
        process->structure().set("common.id", fake.pid(77));
    }
    EXPECT_THAT(refused(fake), HasSubstr("one table of processes, found none"));
}

TEST_P(Locate, RefusesAJitListThatIsTorn) {
    StandardNode node(layout);
    auto& fake = node.vm;
    const auto first = fake.globals().jit_descriptor + 16;
    const auto newest = fake.memory.word(first).value();
    const auto oldest = fake.memory.word(newest).value();
    const auto with = [&](Address at, std::uint64_t value) {
        const auto before = fake.memory.word(at).value();
        fake.memory.put(at, value);
        auto said = refused(fake);
        fake.memory.put(at, before);
        return said;
    };
    EXPECT_THAT(with(first, kNowhere), HasSubstr("__jit_debug_descriptor"));
    EXPECT_THAT(with(oldest + 8, oldest), HasSubstr("__jit_debug_descriptor"));
    EXPECT_THAT(with(oldest, oldest), HasSubstr("does not lead back"));
    EXPECT_THAT(with(oldest, newest), HasSubstr("does not lead back"));
    // Contents that are of neither kind, and the emulator's that are missing.
    EXPECT_THAT(with(fake.memory.word(oldest + 16).value(), 2), HasSubstr("expected a module"));
    EXPECT_THAT(with(newest, 0),
                HasSubstr(fake.is_otp_24() ? "expected a module" : "the_active_code_index"));
    EXPECT_EQ(refused(fake), "no error");
}

TEST_P(Locate, RefusesACodeIndexThatIsNone) {
    StandardNode node(layout);
    auto& fake = node.vm;
    auto vm = fake.located();
    fake.memory.put(fake.globals().active_code_index, 3U);
    EXPECT_THAT(refused(fake), HasSubstr("the_active_code_index"));
    EXPECT_THAT(fake.locate().error().message, HasSubstr("expected 0 to 2, found 3"));
    EXPECT_THAT(vm->refresh().error().message, HasSubstr("found 3"));
    fake.memory.put(fake.globals().active_code_index, 0U);
    EXPECT_TRUE(vm->refresh());
    EXPECT_EQ(vm->facts().active_code_index, 0U);
}

TEST_P(Locate, RefusesLiteralsSchedulersAndCatchesThatAreNowhere) {
    StandardNode node(layout);
    auto& fake = node.vm;
    auto catches = fake.at("CatchPool", fake.globals().catches);
    catches.set("tabsize", 1000);
    EXPECT_THAT(refused(fake), HasSubstr("bccix: expected one place"));
    catches.set("tabsize", 1024);
    fake.memory.put(fake.globals().literals_bytes, std::uint64_t{12345});
    EXPECT_THAT(refused(fake), HasSubstr("erts_literals_start"));
    fake.memory.put(fake.globals().literals_bytes, fake.literals.range().bytes());
    fake.memory.put(fake.globals().this_node, Address{0});
    EXPECT_THAT(refused(fake), HasSubstr("erts_this_node"));
    fake.memory.put(fake.globals().this_node, fake.this_node());
    EXPECT_EQ(refused(fake), "no error");
}

/// A pointer to a page beside a number that is of whole pages for the moment.
TEST_P(Locate, FindsTheLiteralsBesideNumbersThatLookLikeTheirRange) {
    StandardNode node(layout);
    auto& fake = node.vm;
    const auto start = fake.heap.range().begin;
    ASSERT_EQ(start % kLeastPageBytes, 0U);
    const auto distance = fake.literals.range().end > start ? fake.literals.range().end - start : 0;
    ASSERT_GT(distance, 0U);
    for (const bool backward : {false, true}) {
        const std::array<std::uint64_t, 2> pair{start, distance + 16 * kLeastPageBytes};
        fake.memory.put(fake.data.place(16), backward ? std::array{pair[1], pair[0]} : pair);
        const auto vm = fake.locate(FakeVm::Symbols::kNone);
        ASSERT_TRUE(vm) << vm.error().message;
        EXPECT_EQ((*vm)->facts().literals_start, fake.literals.range().begin);
        EXPECT_EQ((*vm)->facts().literals_bytes, fake.literals.range().bytes());
    }
    const auto top = fake.globals().literal_mapper + 24;
    fake.memory.put(top, fake.memory.word(top).value() - kLeastPageBytes);
    EXPECT_THAT(refused(fake), HasSubstr("that a memory mapper has, found none"));
}

/// Until the boot has loaded code through each code index, the pools of the others are empty.
TEST_P(Locate, FindsCatchesWhileTheNodeBoots) {
    StandardNode node(layout);
    auto& fake = node.vm;
    const auto pool = [&](std::size_t index) {
        return fake.at("CatchPool", fake.globals().catches + index * fake.bytes("CatchPool"));
    };
    for (const std::size_t empty : {2U, 1U}) {
        pool(empty).set("high_mark", 0);
        const auto vm = fake.locate(FakeVm::Symbols::kNone);
        ASSERT_TRUE(vm) << vm.error().message;
        EXPECT_EQ((*vm)->tables().catches, fake.globals().catches);
    }
    pool(0).set("high_mark", 0);
    EXPECT_THAT(refused(fake), HasSubstr("bccix: expected one place"));
    pool(1).set("high_mark", 1);
    EXPECT_EQ(refused(fake), "no error");
    pool(1).set("free_list", 1);
    EXPECT_THAT(refused(fake), HasSubstr("bccix: expected one place"));
}

TEST_P(Locate, NamesTheReleaseThatHasNoLayout) {
    StandardNode node(layout, "99");
    const auto vm = locate_vm(node.vm.open(), {});
    EXPECT_EQ(vm.error().code, ErrorCode::kNoLayout);
    EXPECT_THAT(vm.error().message, HasSubstr("no layout for OTP 99"));
    EXPECT_EQ(find_release(*node.vm.open(FakeVm::Symbols::kNone), {}).value(), "99");
}

/// The node of a layout whose file says that it is for another architecture.
TEST_P(Locate, RefusesALayoutOfAnotherArchitecture) {
    StandardNode node(layout);
    auto json = layout.json();
    const std::string_view own = R"("architecture": "x86-64")";
    json.replace(json.find(own), own.size(), R"("architecture": "aarch64")");
    const auto other = Layout::parse(json).value();
    LocateOptions options;
    options.layout = other;
    const auto given = locate_vm(node.vm.open(), options);
    EXPECT_EQ(given.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(given.error().message,
                HasSubstr("does not fit this node: expected one of x86-64, it is of aarch64"));
    options = {};
    options.layouts = {other};
    const auto known = locate_vm(node.vm.open(), options);
    EXPECT_EQ(known.error().code, ErrorCode::kNoLayout);
    EXPECT_THAT(known.error().message, HasSubstr("on x86-64 (known: none)"));
}

TEST_P(Locate, TellsMemoryFromWhatIsNot) {
    StandardNode node(layout);
    const auto vm = node.vm.located();
    const auto end = node.vm.heap.range().end;
    EXPECT_TRUE(vm->plausible(end - 8, 8));
    EXPECT_FALSE(vm->plausible(end - 8, 16));
    EXPECT_FALSE(vm->plausible(end - 7, 1));
    EXPECT_FALSE(vm->plausible(0, 8));
    EXPECT_FALSE(vm->plausible(end - 8, ~std::uint64_t{0}));
}

BEAMDUMP_FOR_EACH_LAYOUT(Locate);

}  // namespace
}  // namespace beamdump::beam
