#include "support/fake_memory.h"

#include <libvm/beam/processes/yield_state.h>

#include <gtest/gtest.h>

#include <array>
#include <builtin_layouts.h>
#include <span>
#include <stdexcept>
#include <vector>

namespace beamdump::beam {
namespace {

using beamdump::test::FakeMemory;

constexpr Address kCode = 0x700000;
constexpr Address kMfa = kCode + 64;
constexpr Address kFunction = kMfa + 24;
constexpr Address kHeap = 0x20000;
constexpr Address kHeapEnd = 0x21000;
constexpr Address kYieldedProcess = 0x10000;
constexpr Address kArguments = 0x30000;

constexpr std::uint64_t kArity = 3;
constexpr std::int32_t kReductions = -7;  // as with call saving

Layout first_layout_of(Architecture architecture) {
    for (const auto& builtin : builtin_layouts()) {
        auto layout = Layout::parse(builtin.json).value();
        if (layout.architecture() == architecture) {
            return layout;
        }
    }
    throw std::runtime_error("there is no layout of that architecture");
}

/// Code of a function foo:bar/3, and a process that runs.
class RunningFunction : public ::testing::Test {
  protected:
    explicit RunningFunction(Architecture architecture)
        : layout_(first_layout_of(architecture)),
          names_(layout_),
          yield_state_(YieldState::open(layout_).value()),
          structure_(names_.bytes(StructName{"Process"})) {
        memory_.add("code", kCode, 4096);
        const auto atoms = AtomWords::resolve(layout_).value();
        memory_.put(kMfa, atoms.word(17));
        memory_.put(kMfa + 8, atoms.word(18));
        memory_.put(kMfa + 16, kArity);
        put("heap", kHeap);
        put("hend", kHeapEnd);
        put("state", names_.constant(ConstantName{"state_running"}) |
                         names_.constant(ConstantName{"state_active"}));
    }

    void put_code(const std::vector<int>& bytes) {
        std::vector<std::byte> code;
        for (const int byte : bytes) {
            code.push_back(static_cast<std::byte>(byte));
        }
        memory_.put_bytes(kFunction, code);
    }
    void put(std::string_view name, std::uint64_t value) {
        const auto field = names_.field(FieldName{"Process", name});
        std::memcpy(structure_.data() + field.offset, &value, field.bytes);
    }
    [[nodiscard]] std::uint64_t get(std::string_view name) {
        return StructView(structure_).get(names_.field(FieldName{"Process", name}));
    }
    static target::ThreadRegisters at(Address instruction) {
        return {.thread = 7,
                .instruction = instruction,
                .stack_pointer = kHeap + 0x800,
                .jit = {.process = kYieldedProcess,
                        .stack_top = kHeap + 0x800,
                        .heap_top = kHeap + 0x100,
                        .reductions_left = static_cast<std::uint32_t>(kReductions),
                        .scheduler = kArguments}};
    }
    bool applies(const target::ThreadRegisters& thread) {
        yield_state_.record(std::array{thread}, memory_);
        return yield_state_.apply(kYieldedProcess, structure_);
    }

    FakeMemory memory_;
    Layout layout_;
    LayoutNames names_;
    YieldState yield_state_;
    std::vector<std::byte> structure_;
};

/// As OTP's JIT begins it on x86-64.
class YieldStateTest : public RunningFunction {
  protected:
    YieldStateTest() : RunningFunction(Architecture::kX86_64) {
        put_code({0xeb, 0x06, 0x90, 0xe8, 1,    2,    3,    4, 0x48, 0x8d, 0x15, 9,    0,
                  0,    0,    0x41, 0xff, 0xce, 0x0f, 0x8e, 1, 2,    3,    4,    0x48, 0x83});
    }
};

/// As OTP's JIT begins it on aarch64: of OTP 25 with a place for a breakpoint's flag.
class YieldStateAarch64 : public RunningFunction {
  protected:
    YieldStateAarch64() : RunningFunction(Architecture::kAarch64) { put_instructions(kWithFlag); }
    void put_instructions(std::span<const std::uint32_t> words) {
        const auto bytes = std::as_bytes(words);
        memory_.put_bytes(kFunction, {bytes.begin(), bytes.end()});
    }
    static target::ThreadRegisters at(Address instruction) {
        auto thread = RunningFunction::at(instruction);
        thread.general_count = 32;
        for (std::size_t number = 0; number < thread.general_count; ++number) {
            thread.general_words.at(number) = 1000 + number;
        }
        return thread;
    }
    [[nodiscard]] std::vector<std::uint64_t> kept_arguments() {
        const auto field = names_.field(FieldName{"Process", "def_arg_reg"});
        std::vector<std::uint64_t> words(kArity);
        std::memcpy(words.data(), structure_.data() + field.offset, kArity * 8);
        return words;
    }

    // str x30, [x20, #-8]!; b; movz x0; bl; adr x2; subs x22, x22, #1; b.le; ldr x0, [x20]
    static constexpr std::array<std::uint32_t, 8> kWithFlag = {0xf81f8e9e, 0x14000003, 0xd2800020,
                                                               0x97ffff12, 0x10ffff82, 0xf10006d6,
                                                               0x54fffe6d, 0xf9400280};
    // The same without movz, and with w22.
    static constexpr std::array<std::uint32_t, 8> kWithout = {0xf81f8e9e, 0x14000002, 0x97ffff12,
                                                              0x10ffffa2, 0x710006d6, 0x54fffe6d,
                                                              0xf9400280, 0xd503201f};
};

TEST_F(YieldStateTest, AllIsKnownAtTheBeginningOfAFunction) {
    for (const Address behind : {0, 8, 15, 18, 24}) {
        EXPECT_TRUE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
    ASSERT_TRUE(applies(at(kFunction + 15)));
    EXPECT_EQ(get("htop"), kHeap + 0x100);
    EXPECT_EQ(get("stop"), kHeap + 0x800);
    EXPECT_EQ(get("i"), kFunction + 15);
    EXPECT_EQ(get("current"), kMfa);
    EXPECT_EQ(get("arity"), kArity);
    EXPECT_EQ(get("arg_reg"), kArguments);
    EXPECT_EQ(static_cast<std::int64_t>(get("fcalls")), kReductions);
    EXPECT_TRUE(names_.outcome());
}

TEST_F(YieldStateTest, AnywhereElseNothingIs) {
    for (const Address behind : {1, 7, 9, 16, 23, 25, 28, 100}) {
        EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
    EXPECT_FALSE(yield_state_.at_yield_point(at(0x900000), memory_));
    EXPECT_FALSE(yield_state_.at_yield_point(at(8), memory_));
    auto askew = at(kFunction);
    askew.jit.stack_top += 4;
    EXPECT_FALSE(yield_state_.at_yield_point(askew, memory_));
}

TEST_F(YieldStateTest, CodeThatOnlyLooksSimilarIsNoBeginning) {
    memory_.put(kMfa + 16, 256);  // no function has so many arguments
    EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction), memory_));
    memory_.put(kMfa + 16, kArity);
    memory_.put(kMfa, 0x1234);  // no atom
    EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction), memory_));
}

TEST_F(YieldStateTest, AFunctionWithABreakpointIsNot) {
    put_code({0xeb, 0x00});
    EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction), memory_));
}

TEST_F(YieldStateTest, RefusesRegistersThatContradictTheStructure) {
    auto beyond = at(kFunction);
    beyond.jit.stack_top = kHeapEnd;
    EXPECT_FALSE(applies(beyond));
    auto below = at(kFunction);
    below.jit.heap_top = kHeap - 8;
    EXPECT_FALSE(applies(below));
    auto crossed = at(kFunction);
    crossed.jit.heap_top = crossed.jit.stack_top + 8;
    EXPECT_FALSE(applies(crossed));
    for (const auto* state : {"state_gc", "state_exiting", "state_running_sys"}) {
        put("state",
            names_.constant(ConstantName{"state_running"}) | names_.constant(ConstantName{state}));
        EXPECT_FALSE(applies(at(kFunction))) << state;
    }
    put("state", names_.constant(ConstantName{"state_active"}));
    EXPECT_FALSE(applies(at(kFunction)));
}

TEST_F(YieldStateTest, ACollectionThatCodeHasCalledForHasItsArguments) {
    const auto running = names_.constant(ConstantName{"state_running"});
    const auto collecting = running | names_.constant(ConstantName{"state_gc"});
    YieldState::State state{.arity = 2,
                            .instruction = kFunction + 40,
                            .arguments = kArguments,
                            .collection_words = 1,
                            .passing = true};
    yield_state_.know(kYieldedProcess, state);
    put("current", kMfa);
    put("stop", kHeap + 0x200);
    // It may be about to begin, or have ended.
    EXPECT_FALSE(yield_state_.apply(kYieldedProcess, structure_));
    EXPECT_FALSE(yield_state_.apply_to_collection(kYieldedProcess, structure_));
    put("state", collecting);
    EXPECT_FALSE(yield_state_.apply(kYieldedProcess, structure_));
    EXPECT_EQ(yield_state_.apply_to_collection(kYieldedProcess, structure_), 1U);
    EXPECT_EQ(get("i"), kFunction + 40);
    EXPECT_EQ(get("arity"), 2U);
    EXPECT_EQ(get("arg_reg"), kArguments);
    EXPECT_EQ(get("current"), 0U);
    EXPECT_EQ(get("stop"), kHeap + 0x200);  // the collection's own
    EXPECT_FALSE(yield_state_.apply_to_collection(kYieldedProcess + 8, structure_));
    // Another has asked for it, or a dirty scheduler collects.
    put("state", collecting | names_.constant(ConstantName{"state_dirty_running_sys"}));
    EXPECT_FALSE(yield_state_.apply_to_collection(kYieldedProcess, structure_));
    put("state", collecting);
    state.collection_words.reset();
    yield_state_.know(kYieldedProcess, state);
    EXPECT_FALSE(yield_state_.apply_to_collection(kYieldedProcess, structure_));
}

TEST_F(YieldStateAarch64, AllIsKnownOnceTheReturnAddressIsOnTheStack) {
    for (const Address behind : {4, 16, 20, 24, 28}) {
        EXPECT_TRUE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
    for (const Address behind : {0, 8, 12, 32}) {
        EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
    ASSERT_TRUE(applies(at(kFunction + 20)));
    EXPECT_EQ(get("htop"), kHeap + 0x100);
    EXPECT_EQ(get("stop"), kHeap + 0x800);
    EXPECT_EQ(get("i"), kFunction + 20);
    EXPECT_EQ(get("current"), kMfa);
    EXPECT_EQ(get("arity"), kArity);
    EXPECT_EQ(static_cast<std::int64_t>(get("fcalls")), kReductions);
}

TEST_F(YieldStateAarch64, AFunctionWithoutAFlagIsOneToo) {
    put_instructions(kWithout);
    for (const Address behind : {4, 12, 16, 20, 24}) {
        EXPECT_TRUE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
    for (const Address behind : {0, 8, 28}) {
        EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction + behind), memory_)) << behind;
    }
}

TEST_F(YieldStateAarch64, ArgumentsAreThoseOfMachineRegisters) {
    ASSERT_TRUE(applies(at(kFunction + 16)));
    const auto field = names_.field(FieldName{"Process", "def_arg_reg"});
    EXPECT_EQ(get("arg_reg"), kYieldedProcess + field.offset);
    EXPECT_EQ(kept_arguments(), (std::vector<std::uint64_t>{1025, 1026, 1027}));
}

TEST_F(YieldStateAarch64, AFunctionWithMoreArgumentsThanRegistersIsNone) {
    memory_.put(kMfa + 16, 6);
    EXPECT_TRUE(yield_state_.at_yield_point(at(kFunction + 16), memory_));
    memory_.put(kMfa + 16, 7);
    EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction + 16), memory_));
}

TEST_F(YieldStateAarch64, AFunctionWithABreakpointIsNone) {
    auto words = kWithFlag;
    words[1] = 0x14000001;
    put_instructions(words);
    EXPECT_FALSE(yield_state_.at_yield_point(at(kFunction + 16), memory_));
}

TEST_F(YieldStateTest, ForgetsAProcessThatMovedOn) {
    ASSERT_TRUE(applies(at(kFunction)));
    yield_state_.forget();
    EXPECT_FALSE(yield_state_.apply(kYieldedProcess, structure_));
    EXPECT_FALSE(applies(at(kFunction + 1)));
}

}  // namespace
}  // namespace beamdump::beam
