#include "fake_vm/each_layout.h"

#include <libvm/beam/native/native_calls.h>

#include <gmock/gmock.h>

#include <ctime>
#include <sys/syscall.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr pid_t kThread = 88;
constexpr std::uint64_t kArity = 2;
/// lea rsp, [rbx - 0x40]
constexpr std::uint64_t kArguments = 0x40;

/// A process in native code, a normal scheduler that has it, and the code of the JIT's fragments as
/// they call native code.
class NativeCallsTest : public OnStandardNode {
  protected:
    NativeCallsTest() {
        const Address stack = node.vm.heap.place(8192);
        registers = stack + 4096;
        const auto scheduler =
            node.vm.at("ErtsSchedulerData", node.vm.located()->tables().schedulers);
        node.vm.memory.put(scheduler.address(), registers);
        node.vm.at("ErtsSchedulerData", scheduler.address())
            .set("current_process", process().address());
        const auto stop = static_cast<int>(stop_field().offset);
        const Address pointer = node.vm.code.place_words({0});
        callee = node.vm.read_only.place(256);
        put(callee, {0x53, 0xff, 0xd1, 0xc3});
        node.vm.memory.put(pointer, callee);
        light = add("global::call_light_bif_shared",
                    {0x48, 0x8d, 0x63, 0xc0, 0xff, 0xd0, 0x49, 0x8b, 0x65, stop});
        bif = add_indirect("global::call_bif_shared", pointer, stop);
        nif = add_indirect("global::call_nif_shared", pointer, stop);
        collection = add("global::garbage_collect", {0x48, 0x8d, 0x63, 0xc0, 0xff, 0x15, 0, 0, 0, 0,
                                                     0x49, 0x29, 0xc6, 0x49, 0x8b, 0x65, stop});
        process().structure().set("state", node.vm.constant("state_running")).set("fcalls", 77);
    }

    FakeProcess& process() { return node.init; }
    Field stop_field() {
        LayoutNames names(layout);
        return names.field(FieldName{"Process", "stop"});
    }
    void put(Address at, const std::vector<int>& bytes) {
        for (std::size_t index = 0; index < bytes.size(); ++index) {
            node.vm.memory.put(at + index, static_cast<std::uint8_t>(bytes[index]));
        }
    }
    Address add(const std::string& name, const std::vector<int>& bytes) {
        const auto begin = node.vm.code.place(64);
        put(begin, bytes);
        fragments.push_back({name, begin, begin + 64});
        return begin;
    }
    Address add_indirect(const std::string& name, Address pointer, int stop) {
        const auto begin =
            add(name, {0x48, 0x8d, 0x63, 0xc0, 0xff, 0x15, 0, 0, 0, 0, 0x49, 0x8b, 0x65, stop});
        node.vm.memory.put(begin + 6, static_cast<std::int32_t>(pointer - (begin + 10)));
        return begin;
    }
    /// The thread's stack in a call that returns to `returns_to`.
    void calls(Address returns_to) { node.vm.memory.put(registers - 8, returns_to); }

    target::ThreadRegisters thread(std::uint64_t moment) const {
        target::ThreadRegisters thread{
            .thread = kThread, .instruction = callee, .stack_pointer = registers - 256};
        thread.general_words[0] = moment;
        thread.general_count = 1;
        return thread;
    }
    /// What is known of it after it has run on a few times.
    std::vector<std::pair<Address, YieldState::State>> known() {
        auto calls = NativeCalls::open(fresh(), fragments).value();
        for (std::uint64_t moment = 0; moment < 8; ++moment) {
            calls.stays_in_call(thread(moment));
        }
        const std::array threads = {thread(8)};
        return calls.states(threads);
    }
    void expect(const YieldState::State& state, Address mfa, std::uint64_t arity, Address place,
                Address stack) {
        EXPECT_EQ(state.code_mfa, mfa);
        EXPECT_EQ(state.arity, arity);
        EXPECT_EQ(state.instruction, place);
        EXPECT_EQ(state.stack_top, stack);
        EXPECT_EQ(state.heap_top, process().structure().get("htop"));
        EXPECT_EQ(state.arguments, registers + kArguments);
        EXPECT_EQ(state.reductions_left, 77);
    }
    /// It calls a BIF of an export entry from `place`.
    Address call_light_bif(Address place) {
        const auto exported = node.vm.add_export(node.code, "long", kArity);
        process().push(place + 32);
        node.vm.memory.put(registers + 8, place);
        node.vm.memory.put(registers + 16, exported);
        calls(light + 6);
        return node.vm.at("Export", exported).at("info.mfa");
    }

    std::vector<JitRange> fragments;
    Address registers = 0, callee = 0, light = 0, bif = 0, nif = 0, collection = 0;
};

TEST_P(NativeCallsTest, BeforeABifAllIsKnown) {
    const auto top = process().structure().get("stop");
    const auto place = node.code.functions.front();
    const auto mfa = call_light_bif(place);
    const auto states = known();
    ASSERT_THAT(states, SizeIs(1));
    EXPECT_EQ(states[0].first, process().address());
    // As if it had not been called: its return address is not on the stack.
    expect(states[0].second, mfa, kArity, place, top);
}

/// A thread that died does not run on; its C stack may be deeper than that of a thread that is
/// recognised by it.
TEST_P(NativeCallsTest, KnowsTheCallOfADeadThreadByItsScheduler) {
    const auto place = node.code.functions.front();
    const auto top = process().structure().get("stop");
    const auto mfa = call_light_bif(place);
    const auto native = NativeCalls::open(fresh(), fragments).value();
    const auto scheduler = node.vm.located()->tables().schedulers;
    auto died = thread(0);
    died.stack_pointer = registers - (std::uint64_t{1} << 20U);
    const auto call = native.call_in_middle(died, scheduler);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->process, process().address());
    EXPECT_FALSE(call->nif);
    expect(call->state, mfa, kArity, place, top);
    EXPECT_FALSE(native.call_in_middle(died, scheduler + 8));
    died.instruction = place;  // Erlang code
    EXPECT_FALSE(native.call_in_middle(died, scheduler));
}

TEST_P(NativeCallsTest, AnotherCallSiteIsNotTheBifs) {
    call_light_bif(node.code.functions.front());
    node.vm.memory.put(registers + 8, node.code.functions.front() - 256);
    EXPECT_THAT(known(), IsEmpty());
}

TEST_P(NativeCallsTest, ABifThatCollectsAfterwardsHasNoArguments) {
    const auto mfa = node.vm.at("Export", node.vm.add_export(node.code, "heavy", kArity));
    const auto code = node.vm.code.place(64);
    for (std::size_t word = 0; word < 3; ++word) {
        node.vm.memory.put(code + word * 8,
                           node.vm.memory.word(mfa.at("info.mfa") + word * 8).value());
    }
    process().structure().set("current", code).set("arity", kArity).set("i", code + 24);
    const auto top = process().structure().get("stop");
    calls(bif + 10);
    EXPECT_THAT(known(), IsEmpty());  // it is not in the BIF itself
    node.vm.memory.put(registers - 48, callee + 3);
    const auto states = known();
    ASSERT_THAT(states, SizeIs(1));
    expect(states[0].second, code, kArity, code + 24, top);
    // It has set where to go on.
    process().structure().set("arity", kArity + 1);
    EXPECT_THAT(known(), IsEmpty());
}

TEST_P(NativeCallsTest, ANifHasTheArgumentsOfItsFunction) {
    const auto mfa =
        node.vm.at("Export", node.vm.add_export(node.code, "native", kArity)).at("info.mfa");
    process().structure().set("current", mfa);
    calls(nif + 10);
    node.vm.memory.put(registers - 48, callee + 3);
    const auto states = known();
    ASSERT_THAT(states, SizeIs(1));
    expect(states[0].second, mfa, kArity, mfa + 24, process().structure().get("stop"));
}

TEST_P(NativeCallsTest, ABifThatWaitsForTheOutsideIsKnown) {
    call_light_bif(node.code.functions.front());
    auto waiting = thread(0);
    const auto known_in = [&](std::int64_t number) {
        waiting.system_call = number;
        const std::array threads = {waiting};
        return NativeCalls::open(fresh(), fragments).value().states(threads).size();
    };
    EXPECT_EQ(known_in(SYS_write), 1U);
    EXPECT_EQ(known_in(SYS_clock_nanosleep), 1U);
    EXPECT_EQ(known_in(SYS_mmap), 0U);
    EXPECT_EQ(known_in(SYS_futex), 0U);
    // After a stop the kernel restarts it: a sleep by a clock, or a wait for a lock.
    waiting.first_argument = CLOCK_MONOTONIC;
    EXPECT_EQ(known_in(SYS_restart_syscall), 1U);
    waiting.first_argument = callee;
    EXPECT_EQ(known_in(SYS_restart_syscall), 0U);
}

TEST_P(NativeCallsTest, AThreadThatWaitsElsewhereIsKnownInANifOnly) {
    auto waiting = thread(0);
    waiting.system_call = SYS_futex;
    const std::array threads = {waiting};
    call_light_bif(node.code.functions.front());
    EXPECT_THAT(NativeCalls::open(fresh(), fragments).value().states(threads), IsEmpty());
    const auto exported = node.vm.add_export(node.code, "sleeping", kArity);
    process().structure().set("current", node.vm.at("Export", exported).at("info.mfa"));
    calls(nif + 10);
    node.vm.memory.put(registers - 48, callee + 3);
    EXPECT_THAT(NativeCalls::open(fresh(), fragments).value().states(threads), SizeIs(1));
}

TEST_P(NativeCallsTest, BeforeACollectionTheLiveRegistersAreInTheCode) {
    const auto top = process().structure().get("stop");
    const auto code = node.vm.code.place(64);
    const auto place = code + 32;
    process().structure().set("i", place);
    process().push(place);
    calls(collection + 10);
    EXPECT_THAT(known(), IsEmpty());  // no code tells their number
    put(place - 12, {0xb9, 3, 0, 0, 0, 0x0f, 0x1f, 0xe8, 1, 2, 3, 4});
    auto states = known();
    ASSERT_THAT(states, SizeIs(1));
    expect(states[0].second, 0, 3, place, top);
    put(place - 12, {0x90, 0x90, 0x90, 0x90, 0x31, 0xc9, 0xff, 0x15, 1, 2, 3, 4});
    states = known();
    ASSERT_THAT(states, SizeIs(1));
    EXPECT_EQ(states[0].second.arity, 0);
    EXPECT_FALSE(states[0].second.passing);
    put(place - 11, {0xb9, 2, 0, 0, 0, 0x40, 0xe8, 1, 2, 3, 4});  // rex call
    states = known();
    ASSERT_THAT(states, SizeIs(1));
    EXPECT_EQ(states[0].second.arity, 2);
    // In the middle of it no more is needed than its arguments.
    const std::array threads = {thread(0)};
    states = NativeCalls::open(fresh(), fragments).value().states(threads);
    ASSERT_THAT(states, SizeIs(1));
    EXPECT_EQ(states[0].second.collection_words, 1U);
    EXPECT_TRUE(states[0].second.passing);
}

TEST_P(NativeCallsTest, ACollectionOfNativeCodeHasAllOfTheStackAndNoArguments) {
    const auto place = node.code.functions.front();
    call_light_bif(place);
    const auto state_of_collection = [&] {
        const std::array threads = {thread(0)};
        auto states = NativeCalls::open(fresh(), fragments).value().states(threads);
        return states.size() == 1 ? std::optional(states[0].second) : std::nullopt;
    };
    calls(light + 40);  // behind the BIF
    EXPECT_FALSE(state_of_collection());
    process().structure().set("state",
                              node.vm.constant("state_running") | node.vm.constant("state_gc"));
    auto state = state_of_collection();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->instruction, place);
    EXPECT_EQ(state->arity, 0U);
    EXPECT_TRUE(state->without_x_registers);
    EXPECT_EQ(state->collection_words, 1U);
    // A BIF that has set where it goes on.
    const auto mfa =
        node.vm.at("Export", node.vm.add_export(node.code, "trap", kArity)).at("info.mfa");
    process().structure().set("current", mfa).set("arity", kArity + 1).set("i", mfa + 24);
    calls(bif + 10);
    state = state_of_collection();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->instruction, mfa + 24);
    EXPECT_EQ(state->collection_words, 0U);
    calls(collection + 10);
    EXPECT_FALSE(state_of_collection());  // the stack does not begin with where it returns to
    process().structure().set("i", place + 32);
    state = state_of_collection();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->instruction, place + 32);
    EXPECT_EQ(state->collection_words, 1U);
}

TEST_P(NativeCallsTest, OnlyACallThatLastsIsKnown) {
    call_light_bif(node.code.functions.front());
    auto calls = NativeCalls::open(fresh(), fragments).value();
    // It has not run on.
    for (int look = 0; look < 20; ++look) {
        EXPECT_FALSE(calls.stays_in_call(thread(1)));
    }
    // It calls the same BIF again and again.
    for (std::uint64_t call = 0; call < 20; ++call) {
        process().structure().set("fcalls", 100 - call);
        EXPECT_FALSE(calls.stays_in_call(thread(call)));
    }
    for (std::uint64_t moment = 30; moment < 40; ++moment) {
        calls.stays_in_call(thread(moment));
    }
    EXPECT_TRUE(calls.stays_in_call(thread(40)));
    calls.forget();
    const std::array threads = {thread(41)};
    EXPECT_THAT(calls.states(threads), IsEmpty());
}

/// A process in the code of a function that takes a frame of two words.
class InCompiledCode : public NativeCallsTest {
  protected:
    InCompiledCode() {
        function = node.code.functions.front();
        put(function, {0x48, 0x83, 0xec, 0x10,                   // sub rsp, 16
                       0x48, 0x89, 0x3c, 0x24,                   // mov [rsp], rdi
                       0x48, 0x89, 0x7c, 0x24, 0x08,             // mov [rsp + 8], rdi
                       0x90, 0xe8, 0,    0,    0,    0, 0xc3});  // nop; call; ret
        returns = pushed(node.code.functions.back() + 8);
        pushed(node.vm.small(1));
        top = pushed(node.vm.small(2));
    }
    /// Where the word is on the process's stack.
    Address pushed(std::uint64_t word) {
        process().push(word);
        return process().structure().get("stop");
    }
    std::optional<YieldState::State> at(Address place, Address stack) {
        auto calls = NativeCalls::open(fresh(), fragments).value();
        calls.prepare();
        const target::ThreadRegisters thread{
            .thread = kThread,
            .instruction = place,
            .stack_pointer = stack,
            .jit = {.process = process().address(),
                    .stack_top = stack,
                    .heap_top = process().structure().get("htop") + 16,
                    .reductions_left = 55,
                    .scheduler = registers + kArguments}};
        const std::array threads = {thread};
        const auto states = calls.states(threads);
        return states.empty() ? std::nullopt : std::optional(states.front().second);
    }
    Address function = 0, returns = 0, top = 0;
};

TEST_P(InCompiledCode, AFrameThatIsWrittenCounts) {
    const auto state = at(function + 13, top);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->instruction, function + 13);
    EXPECT_EQ(state->stack_top, top);
    EXPECT_EQ(state->heap_top, process().structure().get("htop") + 16);
    EXPECT_EQ(state->reductions_left, 55);
    EXPECT_EQ(state->arity, 0U);
    EXPECT_TRUE(state->in_function);
    EXPECT_FALSE(state->without_frame);
}

TEST_P(InCompiledCode, XRegistersCountThatAreTerms) {
    // Its second function has one argument, and writes to the next register.
    function = node.code.functions.at(1);
    put(function, {0x48, 0x89, 0x43, 0x08,    // mov [rbx + 8], rax
                   0xe8, 0, 0, 0, 0, 0x90});  // call; nop
    node.vm.memory.put(registers + kArguments, node.vm.small(7));
    node.vm.memory.put(registers + kArguments + 8, node.vm.small(8));
    const auto known = [&](Address place) {
        const auto state = at(place, returns);
        return state ? std::pair(state->arity, state->without_x_registers) : std::pair(99UL, true);
    };
    EXPECT_EQ(known(function), std::pair(1UL, false));
    EXPECT_EQ(known(function + 4), std::pair(2UL, false));
    EXPECT_EQ(at(function, returns)->arguments, registers + kArguments);
    // The call leads to nothing that is known, or to a function.
    EXPECT_EQ(known(function + 9), std::pair(0UL, true));
    const auto to = [&](Address target) {
        node.vm.memory.put(function + 5, static_cast<std::int32_t>(target - (function + 9)));
    };
    to(node.code.functions.front());
    EXPECT_EQ(known(function + 9), std::pair(1UL, false));
    to(add("global::plus_body_shared", {0xc3}));
    EXPECT_EQ(known(function + 9), std::pair(2UL, false));
    to(add("global::update_map_assoc_shared", {0xc3}));
    EXPECT_EQ(known(function + 9), std::pair(0UL, true));
    // What marks that there is none.
    node.vm.memory.put(registers + kArguments, std::uint64_t{0});
    EXPECT_EQ(known(function), std::pair(0UL, true));
}

TEST_P(InCompiledCode, OneThatIsHalfMadeIsLeftOut) {
    for (const auto place : {function + 4, function + 8}) {
        const auto state = at(place, top);
        ASSERT_TRUE(state);
        EXPECT_EQ(state->stack_top, returns);
        EXPECT_TRUE(state->without_frame);
    }
}

TEST_P(InCompiledCode, BeforeTheFrameThereIsNone) {
    const auto state = at(function, returns);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->stack_top, returns);
    EXPECT_FALSE(state->without_frame);
}

TEST_P(InCompiledCode, AStackThatContradictsTheCodeIsNotKnown) {
    EXPECT_FALSE(at(function + 13, returns));  // no return address behind it
    EXPECT_FALSE(at(function + 9, top));       // within an instruction
    EXPECT_FALSE(at(function + 13, top + 4));
    node.vm.memory.put(top, node.code.functions.back());
    EXPECT_FALSE(at(function + 13, top));  // a word that is no term
}

TEST_P(InCompiledCode, AnotherSchedulersRegistersAreNotIts) {
    node.vm.at("ErtsSchedulerData", node.vm.located()->tables().schedulers)
        .set("current_process", process().address() + 64);
    EXPECT_FALSE(at(function + 13, top));
}

TEST_P(InCompiledCode, AFragmentIsTheOneThatTheCodeCalls) {
    // The call of the function leads to a fragment that has one word of its own.
    const auto fragment = add("global::compare_shared", {0x48, 0x83, 0xec, 0x08, 0x90, 0xc3});
    const auto behind = function + 19;
    const auto distance = static_cast<std::int32_t>(fragment - behind);
    node.vm.memory.put(function + 15, distance);
    pushed(behind);
    const auto stack = pushed(0);
    const auto state = at(fragment + 4, stack);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->instruction, behind);
    EXPECT_EQ(state->stack_top, top);
    // Or it was jumped to.
    node.vm.memory.put(function + 15, distance + 1);
    EXPECT_FALSE(at(fragment + 4, stack));
}

TEST_P(NativeCallsTest, ElsewhereNothingIsKnown) {
    call_light_bif(node.code.functions.front());
    auto calls = NativeCalls::open(fresh(), fragments).value();
    for (std::uint64_t moment = 0; moment < 10; ++moment) {
        auto in_jit = thread(moment);
        in_jit.instruction = light;
        EXPECT_FALSE(calls.stays_in_call(in_jit));
        auto waiting = thread(moment);
        waiting.system_call = SYS_futex;
        EXPECT_FALSE(calls.stays_in_call(waiting));
        auto other = thread(moment);
        other.stack_pointer = registers + 64;
        EXPECT_FALSE(calls.stays_in_call(other));
    }
    // With frame pointers each fragment begins by saving one.
    put(light, {0x55});
    EXPECT_THAT(known(), IsEmpty());
}

BEAMDUMP_FOR_EACH_LAYOUT(NativeCallsTest);
BEAMDUMP_FOR_EACH_LAYOUT(InCompiledCode);

}  // namespace
}  // namespace beamdump::beam
