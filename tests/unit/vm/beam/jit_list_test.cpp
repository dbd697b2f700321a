#include "unit/vm/fake_vm/jit_contents.h"

#include <libvm/beam/search/jit_list.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace beamdump::beam {
namespace {

using test::JitContents;

constexpr Address kBase = 0x7f0000001000;

JitContents module_with_two_functions() {
    JitContents contents;
    contents.put(std::uint64_t{1}).put(kBase).put(2U).put(0x470U).name("erts_beamasm", 6);
    contents.put(0x188U).put(0x1b0U).put(0U).name("erts_beamasm:run_process/3", 2);
    contents.put(0x1b0U).put(0x200U).put(2U).name("erts_beamasm:normal_exit/0", 2);
    contents.put(0x1b0U).put(17U).name("a.erl", 2);
    contents.put(0x1c0U).put(18U).name("b.erl", 2);
    return contents;
}

TEST(JitList, ReadsAModule) {
    const auto contents = module_with_two_functions();
    const auto module = parse_jit_module(contents.bytes());
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ(module->name, "erts_beamasm");
    EXPECT_EQ(module->begin, kBase);
    EXPECT_EQ(module->bytes, 0x470U);
    ASSERT_EQ(module->ranges.size(), 2U);
    EXPECT_EQ(module->ranges[1].name, "erts_beamasm:normal_exit/0");
    EXPECT_EQ(module->ranges[1].begin, kBase + 0x1b0);
    EXPECT_EQ(module->ranges[1].end, kBase + 0x200);
}

TEST(JitList, RefusesAModuleThatIsCutOffAnywhere) {
    const auto contents = module_with_two_functions();
    for (std::size_t bytes = 0; bytes < contents.bytes().size(); ++bytes) {
        EXPECT_FALSE(parse_jit_module(contents.bytes().first(bytes))) << bytes;
    }
}

TEST(JitList, ReadsAModuleOfOtp24) {
    JitContents contents;
    contents.put(std::uint64_t{2}).put(kBase).put(std::uint64_t{0x470}).text("global");
    contents.put(kBase).put(kBase + 0x40).text("global::call_bif_shared");
    contents.put(kBase + 0x40).put(kBase + 0x470).text("global::garbage_collect");
    const auto module = parse_jit_module_of_24(contents.bytes());
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ(module->name, "global");
    EXPECT_EQ(module->bytes, 0x470U);
    ASSERT_EQ(module->ranges.size(), 2U);
    EXPECT_EQ(module->ranges[1].name, "global::garbage_collect");
    EXPECT_EQ(module->ranges[1].begin, kBase + 0x40);
    EXPECT_EQ(module->ranges[1].end, kBase + 0x470);
    for (std::size_t bytes = 0; bytes < contents.bytes().size(); ++bytes) {
        EXPECT_FALSE(parse_jit_module_of_24(contents.bytes().first(bytes))) << bytes;
    }
}

TEST(JitList, TellsTheEmulatorFromModules) {
    JitContents emulator;
    emulator.put(std::uint64_t{0}).put(std::uint64_t{0}).put(kBase).put(std::uint64_t{0});
    EXPECT_EQ(parse_jit_emulator(emulator.bytes()), kBase);
    EXPECT_FALSE(parse_jit_emulator(module_with_two_functions().bytes()));
    EXPECT_FALSE(parse_jit_module(emulator.bytes()));
    EXPECT_FALSE(parse_jit_emulator(emulator.bytes().first(8)));
}

TEST(JitList, NamesTheCodeThatGlobalsHold) {
    const auto contents = module_with_two_functions();
    const JitSelf jit{0, 0, {*parse_jit_module(contents.bytes())}};
    EXPECT_EQ(code_point(jit, "beam_normal_exit"), kBase + 0x1b0);
    EXPECT_FALSE(code_point(jit, "beam_continue_exit"));
    EXPECT_FALSE(code_point(jit, "beam_of_no_release"));
}

}  // namespace
}  // namespace beamdump::beam
