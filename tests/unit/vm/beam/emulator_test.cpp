#include "fake_vm/each_layout.h"

#include <libvm/beam/emulator/breakpoints.h>
#include <libvm/beam/emulator/emulator.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/system_tasks.h>
#include <libvm/beam/processes/traces.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EmulatorState : public OnStandardNode {
  protected:
    EmulatorReader reader() { return EmulatorReader::open(fresh()).value(); }
    FakeStruct progress() { return node.vm.at("SchedulerProgress", vm->tables().schedulers); }
    template <typename Change>
    void tables(const Change& change) {
        auto changed = vm->tables();
        change(changed.emulator);
        vm->know(vm->facts(), changed, vm->found());
    }
    records::Emulator state() {
        records::Emulator emulator;
        EXPECT_TRUE(reader().state(emulator));
        return emulator;
    }
    /// A queue of processes, of which each waits in front of the one before.
    Address queue(const std::string& item, const std::vector<Address>& processes) {
        Address next = 0;
        for (const auto process : processes) {
            next = node.vm.make(item).set("p", process).set("next", next).address();
        }
        return next;
    }
    void persistent_terms(Address updater, Address queue) {
        const auto variables = node.vm.heap.place_words({updater, queue});
        tables([variables](EmulatorTables& emulator) {
            emulator.persistent_term_updater = variables;
            emulator.persistent_term_queue = variables + 8;
        });
    }
    std::vector<records::ResourceType> types(std::vector<std::string>& untold,
                                             std::size_t most = 10) {
        std::vector<records::ResourceType> all;
        EXPECT_TRUE(reader().resource_types(
            most, false,
            [&](records::ResourceTypes& page) {
                all.insert(all.end(), page.type().begin(), page.type().end());
                return Result<void>();
            },
            untold));
        return all;
    }
    FakeStruct add_type(FakeStruct& list, std::string_view name, std::uint64_t count, bool loaded) {
        auto last = node.vm.at("ErtsResourceType", list.get("prev"));
        auto type = node.vm.make("ErtsResourceType");
        type.set("prev", last.address())
            .set("next", list.address())
            .set("owner", loaded ? 8 : 0)
            .set("refc", count)
            .set("module", node.vm.atom("a_library"))
            .set("name", node.vm.atom(name));
        last.set("next", type.address());
        list.set("prev", type.address());
        return type;
    }
    FakeStruct empty_list() {
        auto list = node.vm.make("ErtsResourceType");
        list.set("next", list.address()).set("prev", list.address());
        tables([&](EmulatorTables& emulator) { emulator.resource_types = list.address(); });
        return list;
    }
};

TEST_P(EmulatorState, ASchedulerSaysWhetherItSleeps) {
    progress().set("id", 1).set("confirmed", UINT64_MAX);
    std::vector<std::string> untold;
    auto reading = reader().progress(17, untold).value();
    EXPECT_THAT(untold, IsEmpty());
    EXPECT_EQ(reading.monotonic_ns(), 17);
    ASSERT_EQ(reading.thread_size(), 1);
    EXPECT_FALSE(reading.thread(0).has_confirmed());
    EXPECT_FALSE(reading.thread(0).has_stopped_at());

    progress()
        .set("confirmed", 41)
        .set("leader", 1)
        .set("leader_state.current", 41)
        .set("leader_state.chk_next_ix", 1)
        .set("leader_state.waiting", UINT32_MAX);
    reading = reader().progress(18, untold).value();
    EXPECT_EQ(reading.thread(0).confirmed(), 41U);
    EXPECT_EQ(reading.thread(0).stopped_at(), 1);
    EXPECT_FALSE(reading.thread(0).waits_for_unmanaged());
    EXPECT_EQ(reading.current(), 41U);
}

TEST_P(EmulatorState, ASchedulerThatIsNoneIsLeftOut) {
    progress().set("id", 3);
    std::vector<std::string> untold;
    EXPECT_EQ(reader().progress(0, untold).value().thread_size(), 0);
    EXPECT_THAT(untold, ElementsAre(HasSubstr("expected number 1 of both, found 1 and 3")));
}

TEST_P(EmulatorState, WhoWaitsToUpdatePersistentTermsIsToldInOrder) {
    const auto worker = node.worker.address();
    const auto other = node.init.address();
    persistent_terms(worker, queue("PersistentTermUpdateItem", {other, worker, other}));
    const auto emulator = state();
    ASSERT_EQ(emulator.permission_size(), 1);
    const auto& permission = emulator.permission(0);
    EXPECT_EQ(permission.kind(), records::PERMISSION_KIND_PERSISTENT_TERM_UPDATE);
    EXPECT_TRUE(permission.held());
    EXPECT_EQ(permission.holder_owner_id(), view(node.worker).facts.owner_id());
    EXPECT_EQ(permission.waiters(), 3U);
    EXPECT_EQ(permission.waiter_owner_id(0), view(node.init).facts.owner_id());
    EXPECT_EQ(permission.waiter_owner_id(1), view(node.worker).facts.owner_id());
}

TEST_P(EmulatorState, WhatContradictsItselfIsNotTold) {
    persistent_terms(0, queue("PersistentTermUpdateItem", {node.worker.address()}));
    const auto emulator = state();
    EXPECT_EQ(emulator.permission_size(), 0);
    EXPECT_THAT(std::vector<std::string>(emulator.untold().begin(), emulator.untold().end()),
                ::testing::Contains(HasSubstr("nobody holds it, and its queue is at")));
}

TEST_P(EmulatorState, AQueueWithoutAnEndIsNotTold) {
    auto item = node.vm.make("PersistentTermUpdateItem");
    item.set("p", node.worker.address()).set("next", item.address());
    persistent_terms(node.worker.address(), item.address());
    EXPECT_EQ(state().permission_size(), 0);
}

TEST_P(EmulatorState, LivingResourcesAreThoseOfTheCountLessTheLibrary) {
    auto list = empty_list();
    std::vector<std::string> untold;
    EXPECT_THAT(types(untold), IsEmpty());
    add_type(list, "first", 1, true);
    add_type(list, "second", 101, true);
    add_type(list, "third", 5, false);
    for (const std::size_t most : {1U, 2U, 3U, 10U}) {
        const auto found = types(untold, most);
        ASSERT_EQ(found.size(), 3U);
        EXPECT_EQ(found[0].living(), 0U);
        EXPECT_EQ(found[1].living(), 100U);
        EXPECT_TRUE(found[1].loaded());
        EXPECT_EQ(found[2].living(), 5U);
        EXPECT_FALSE(found[2].loaded());
        EXPECT_EQ(found[2].name_atom(), node.vm.atom_index("third"));
    }
    EXPECT_THAT(untold, IsEmpty());
}

TEST_P(EmulatorState, ATypeWithoutADestructorIsToldFromOneOfNoFile) {
    auto list = empty_list();
    add_type(list, "first", 1, true);
    add_type(list, "second", 1, true).set("destructor", 0x1234560);
    std::vector<std::string> untold;
    const auto found = types(untold);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(found[0].has_destructor_address());
    EXPECT_EQ(found[0].destructor_address(), 0U);
    EXPECT_EQ(found[1].destructor_address(), 0x1234560U);
    EXPECT_FALSE(found[1].has_destructor_file());
}

/// The trace flags of OTP 25 to 29 (erl_process.h): send, and that a process is sensitive.
constexpr std::uint64_t kSend = 1U << 4U;
constexpr std::uint64_t kSensitive = 1U << 3U;

class Traces : public EmulatorState {
  protected:
    /// A tracer's word: a module and a process.
    Address tracer(FakeProcess& process) {
        return node.vm.heap.place_words(
                   {node.vm.atom("a_library"), view(process).facts.pid_word()}) |
               1U;
    }
    void flags(std::uint64_t flags) { node.worker.structure().set("common.trace_flags", flags); }
    [[nodiscard]] bool has_sessions() {
        return node.vm.layout().has(runtime::ErtsTracerRef::kName);
    }
    FakeStruct session(std::string_view name) {
        return node.vm.make("ErtsTraceSession").set("name_atom", node.vm.atom(name));
    }
    /// Adds a tracer in front of those that the worker has.
    FakeStruct add(Address session, Address tracer, std::uint64_t flags) {
        auto process = node.vm.at("TracedProcess", node.worker.address());
        auto reference = node.vm.make("ErtsTracerRef");
        reference.set("session", session)
            .set("tracer", tracer)
            .set("flags", flags)
            .set("next", process.get("first_ref"));
        process.set("first_ref", reference.address());
        return reference;
    }
    records::Process read() {
        records::Process record;
        record.set_trace_flags(node.worker.structure().get("common.trace_flags"));
        const auto bytes = node.worker.bytes();
        EXPECT_TRUE(TraceReader::open(fresh()).value().read(StructView(bytes), record));
        return record;
    }
};

TEST_P(Traces, NobodyTracesASensitiveProcess) {
    flags(kSensitive);
    const auto record = read();
    EXPECT_EQ(record.tracing_size(), 0);
    EXPECT_FALSE(record.tracing_unread());
}

TEST_P(Traces, ATracerIsAModuleAndAProcess) {
    flags(kSend);
    const auto word = tracer(node.init);
    if (has_sessions()) {
        add(session("first").address(), word, kSend);
    } else {
        node.vm.at("TracedProcess", node.worker.address()).set("tracer", word);
    }
    const auto record = read();
    ASSERT_EQ(record.tracing_size(), 1);
    const auto& tracing = record.tracing(0);
    EXPECT_EQ(tracing.flags(), kSend);
    EXPECT_EQ(tracing.tracer().module_atom(), node.vm.atom_index("a_library"));
    EXPECT_EQ(tracing.tracer().owner_id(), view(node.init).facts.owner_id());
    EXPECT_EQ(tracing.has_session_address(), has_sessions());
}

TEST_P(Traces, EachSessionHasATracerOfItsOwn) {
    if (!has_sessions()) {
        return;
    }
    flags(kSend | kSensitive);
    // A pid without a module, as OTP 28 and 29 have it, and a session that no longer traces it.
    add(session("third").address(), node.vm.constant("nil"), kSensitive);
    add(session("second").address(), view(node.init).facts.pid_word(), kSend);
    add(session("first").address(), tracer(node.worker), kSend | kSensitive);
    const auto record = read();
    ASSERT_EQ(record.tracing_size(), 2);
    EXPECT_EQ(record.tracing(0).session_name_atom(), node.vm.atom_index("first"));
    EXPECT_EQ(record.tracing(0).tracer().owner_id(), view(node.worker).facts.owner_id());
    EXPECT_EQ(record.tracing(1).session_name_atom(), node.vm.atom_index("second"));
    EXPECT_EQ(record.tracing(1).tracer().owner_id(), view(node.init).facts.owner_id());
    EXPECT_FALSE(record.tracing(1).tracer().has_module_atom());
}

TEST_P(Traces, AListWithoutAnEndIsNotTold) {
    flags(kSend);
    if (has_sessions()) {
        auto reference = add(session("first").address(), tracer(node.init), kSend);
        reference.set("next", reference.address());
    } else {
        node.vm.at("TracedProcess", node.worker.address()).set("tracer", 0x1001);
    }
    const auto record = read();
    EXPECT_EQ(record.tracing_size(), 0);
    EXPECT_TRUE(record.tracing_unread());
}

TEST_P(Traces, SessionsAreListedBehindTheFirst) {
    if (!has_sessions()) {
        return;
    }
    auto last = session("second");
    auto other = session("third").set("next", last.address()).set("tracer", tracer(node.init));
    auto first = session("first").set("next", other.address());
    records::Emulator emulator;
    EXPECT_TRUE(TraceReader::open(fresh()).value().sessions(first.address(), emulator));
    EXPECT_TRUE(emulator.trace_sessions_listed());
    ASSERT_EQ(emulator.trace_session_size(), 2);
    EXPECT_EQ(emulator.trace_session(0).name_atom(), node.vm.atom_index("third"));
    EXPECT_EQ(emulator.trace_session(0).tracer().owner_id(), view(node.init).facts.owner_id());
    EXPECT_EQ(emulator.trace_session(1).name_atom(), node.vm.atom_index("second"));

    last.set("next", 0x10);
    records::Emulator torn;
    EXPECT_TRUE(TraceReader::open(fresh()).value().sessions(first.address(), torn));
    EXPECT_FALSE(torn.trace_sessions_listed());
    EXPECT_EQ(torn.trace_session_size(), 0);
}

TEST_P(EmulatorState, ATornListOfTypesIsNotTold) {
    auto list = empty_list();
    add_type(list, "first", 1, true);
    add_type(list, "second", 1, true).set("prev", list.address());
    std::vector<std::string> untold;
    EXPECT_THAT(types(untold), IsEmpty());
    EXPECT_THAT(untold, ElementsAre(HasSubstr("there is no resource type at")));
}

TEST_P(EmulatorState, SystemTasksSayWhoAskedForWhat) {
    auto process = node.vm.at("SystemTaskProcess", node.worker.address());
    auto check = node.vm.make("ErtsProcSysTask");
    auto collection = node.vm.make("ErtsProcSysTask");
    check.set("type", 2)
        .set("requester", view(node.init).facts.pid_word())
        .set("next", collection.address());
    node.vm.memory.put(check.at("arg"), node.vm.atom("a_library"));
    collection.set("type", 0)
        .set("requester", node.vm.constant("nil"))
        .set("next", check.address());
    auto queues = node.vm.make("ErtsProcSysTaskQs");
    node.vm.memory.put(queues.at("q") + 2 * 8, check.address());
    auto dirty = node.vm.make("ErtsProcSysTask");
    dirty.set("type", 1).set("requester", view(node.init).facts.pid_word());
    process.set("sys_task_qs", queues.address())
        .set("dirty_sys_tasks", dirty.address())
        .set("extended_state", 5);
    const auto read = [&] {
        records::Process record;
        const auto bytes = node.worker.bytes();
        EXPECT_TRUE(SystemTaskReader::open(fresh()).value().read(StructView(bytes), record));
        return record;
    };
    auto record = read();
    EXPECT_EQ(record.extended_state_bits(), 5U);
    EXPECT_FALSE(record.system_tasks_unread());
    ASSERT_EQ(record.system_task_size(), 3);
    EXPECT_EQ(record.system_task(0).kind(), records::SYSTEM_TASK_KIND_CHECK_PROCESS_CODE);
    EXPECT_EQ(record.system_task(0).requester_owner_id(), view(node.init).facts.owner_id());
    EXPECT_EQ(record.system_task(0).module_atom(), node.vm.atom_index("a_library"));
    EXPECT_EQ(record.system_task(0).priority(), 2U);
    EXPECT_EQ(record.system_task(1).kind(), records::SYSTEM_TASK_KIND_MAJOR_COLLECTION);
    EXPECT_FALSE(record.system_task(1).has_requester_owner_id());
    EXPECT_FALSE(record.system_task(1).has_module_atom());
    EXPECT_TRUE(record.system_task(2).dirty());
    EXPECT_FALSE(record.system_task(2).has_priority());

    // A circle that does not lead back to its first one.
    collection.set("next", collection.address());
    record = read();
    EXPECT_TRUE(record.system_tasks_unread());
    EXPECT_EQ(record.system_task_size(), 0);
}

class TracedFunctions : public OnStandardNode {
  protected:
    static constexpr std::uint64_t kLocal = 1, kCount = 4, kTime = 0x20, kGlobal = 0x80;

    FakeStruct instance() {
        return node.vm.at("ModuleInstance", node.vm.at("Module", node.code.record).at("curr"));
    }
    /// Adds a breakpoint before those that the ErtsCodeInfo has; `other`: what its second data has.
    FakeStruct add(Address info, std::uint64_t flags, std::uint64_t other) {
        auto code = node.vm.at("ErtsCodeInfo", info);
        auto point = node.vm.make("GenericBp");
        const auto data = point.at("data");
        node.vm.at("GenericBpData", data).set("flags", flags);
        node.vm.at("GenericBpData", data + node.vm.bytes("GenericBpData")).set("flags", other);
        point.set_if_any("next", code.get("gen_bp"));
        code.set("gen_bp", point.address());
        return point;
    }
    FakeStruct add(Address info, std::uint64_t flags) { return add(info, flags, flags); }
    /// The ErtsCodeInfo in an Export.
    Address info_of_export() {
        return node.vm.at("Export", node.exported).at("info.mfa") -
               (node.vm.at("ErtsCodeInfo", 0).at("mfa"));
    }
    records::Emulator read(std::size_t most = 10) {
        records::Emulator emulator;
        const auto modules = read_modules(fresh()).value();
        EXPECT_TRUE(read_traced_functions(*vm, modules, most, emulator));
        return emulator;
    }
};

TEST_P(TracedFunctions, AreNoneWhereNoModuleCountsAny) {
    add(node.code.infos[0], kLocal);
    const auto emulator = read();
    EXPECT_TRUE(emulator.has_traced_functions());
    EXPECT_EQ(emulator.traced_functions(), 0U);
    EXPECT_EQ(emulator.traced_function_size(), 0);
    EXPECT_THAT(emulator.untold(), IsEmpty());
}

TEST_P(TracedFunctions, HaveFlagsInEachSession) {
    instance().set("num_breakpoints", 2);
    add(node.code.infos[1], kLocal | kCount);
    if (node.vm.layout().has(runtime::ErtsTraceSession::kName)) {
        auto session = node.vm.make("ErtsTraceSession").set("name_atom", node.vm.atom("first"));
        add(node.code.infos[1], kTime).set("session", session.address());
        add(node.code.infos[1], 0).set("session", session.address());
    }
    const auto emulator = read();
    ASSERT_EQ(emulator.traced_function_size(), 1);
    const auto& traced = emulator.traced_function(0);
    EXPECT_EQ(traced.function().module_atom(), node.vm.atom_index("kernel"));
    EXPECT_EQ(traced.function().arity(), 1U);
    EXPECT_EQ(traced.trace().rbegin()->flags(), kLocal | kCount);
    EXPECT_FALSE(traced.trace().rbegin()->has_session_address());
    if (node.vm.layout().has(runtime::ErtsTraceSession::kName)) {
        ASSERT_EQ(traced.trace_size(), 2);
        EXPECT_EQ(traced.trace(0).flags(), kTime);
        EXPECT_EQ(traced.trace(0).session_name_atom(), node.vm.atom_index("first"));
    }
}

TEST_P(TracedFunctions, AreExportsWhereAModuleCountsSuch) {
    add(info_of_export(), kGlobal);
    EXPECT_EQ(read().traced_functions(), 0U);
    instance().set("num_traced_exports", 1);
    const auto emulator = read();
    ASSERT_EQ(emulator.traced_function_size(), 1);
    EXPECT_EQ(emulator.traced_function(0).function().function_atom(), node.vm.atom_index("start"));
    EXPECT_EQ(emulator.traced_function(0).trace(0).flags(), kGlobal);
}

TEST_P(TracedFunctions, AreOneWithBreakpointsInCodeAndExport) {
    instance().set("num_breakpoints", 1).set("num_traced_exports", 1);
    node.vm.at("ErtsCodeMFA", node.vm.at("ErtsCodeInfo", node.code.infos[0]).at("mfa"))
        .set("function", node.vm.atom("start"))
        .set("arity", 0);
    add(node.code.infos[0], kTime);
    add(info_of_export(), kGlobal);
    const auto emulator = read();
    EXPECT_EQ(emulator.traced_functions(), 1U);
    ASSERT_EQ(emulator.traced_function_size(), 1);
    ASSERT_EQ(emulator.traced_function(0).trace_size(), 1);
    EXPECT_EQ(emulator.traced_function(0).trace(0).flags(), kTime | kGlobal);
}

TEST_P(TracedFunctions, AreCountedBeyondThoseListed) {
    instance().set("num_breakpoints", 3);
    for (const auto info : node.code.infos) {
        add(info, kLocal);
    }
    const auto emulator = read(2);
    EXPECT_EQ(emulator.traced_function_size(), 2);
    EXPECT_EQ(emulator.traced_functions(), 3U);
}

TEST_P(TracedFunctions, HaveNoFlagsWhereTheTwoSetsDiffer) {
    instance().set("num_breakpoints", 1);
    add(node.code.infos[0], kLocal, kCount);
    const auto emulator = read();
    ASSERT_EQ(emulator.traced_function_size(), 1);
    EXPECT_EQ(emulator.traced_function(0).trace_size(), 0);
}

TEST_P(TracedFunctions, HaveNoFlagsWhereABreakpointIsNowhere) {
    instance().set("num_breakpoints", 1);
    node.vm.at("ErtsCodeInfo", node.code.infos[0]).set("gen_bp", kNowhere);
    const auto emulator = read();
    ASSERT_EQ(emulator.traced_function_size(), 1);
    EXPECT_EQ(emulator.traced_function(0).trace_size(), 0);
}

TEST_P(TracedFunctions, AreNotToldWhereTheModulesFunctionsAreUnreadable) {
    instance().set("num_breakpoints", 1);
    records::Emulator emulator;
    auto modules = read_modules(fresh()).value();
    modules.front().header = kNowhere;
    EXPECT_TRUE(read_traced_functions(*vm, modules, 10, emulator));
    EXPECT_FALSE(emulator.has_traced_functions());
    EXPECT_THAT(emulator.untold(), ElementsAre(HasSubstr("functions whose calls are traced: ")));
}

BEAMDUMP_FOR_EACH_LAYOUT(EmulatorState);
BEAMDUMP_FOR_EACH_LAYOUT(Traces);
BEAMDUMP_FOR_EACH_LAYOUT(TracedFunctions);

}  // namespace
}  // namespace beamdump::beam
