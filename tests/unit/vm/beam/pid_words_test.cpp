#include <libvm/beam/tables/atoms.h>
#include <libvm/beam/tables/id_table.h>

#include <gtest/gtest.h>

#include <builtin_layouts.h>

namespace beamdump::beam {
namespace {

Layout layout_of(std::string_view name) {
    for (const auto& builtin : builtin_layouts()) {
        if (builtin.name == name) {
            return *Layout::parse(builtin.json);
        }
    }
    throw std::logic_error("no such layout");
}

TEST(PidWords, GiveNumberAndSerial) {
    const auto pids = *PidWords::resolve(layout_of("otp-25"), 1U << 18U);
    // <0.90.0> in slot 0x1234: number 90, serial 0
    EXPECT_EQ(pids.owner_id(0x0000123400000000U | 90U << 4U | 3U), 90U);
    // <0.90.7>: the serial starts at bit 15 of the data
    EXPECT_EQ(pids.owner_id((7U << 15U | 90U) << 4U | 3U), (std::uint64_t{7} << 32U) | 90U);
}

TEST(PidWords, PidsOfOtp27HoldTheirSlot) {
    // A table of 2^18 slots has 2^15 lines of eight: <0.8.0> is in line 8, <0.32770.0> in line 2.
    const auto pids = *PidWords::resolve(layout_of("otp-27"), 1U << 18U);
    EXPECT_EQ(pids.owner_id((8U * 8U) << 4U | 3U), 8U);
    EXPECT_EQ(pids.slot((8U * 8U) << 4U | 3U), 64U);
    EXPECT_EQ(pids.owner_id((2U * 8U + 1U) << 4U | 3U), 32770U);
    // Above the slot the data stand as they are: bits 18 to 27 of the number, then the serial.
    EXPECT_EQ(pids.owner_id((std::uint64_t{5} << 28U | 1U << 18U | 64U) << 4U | 3U),
              std::uint64_t{5} << 32U | 1U << 18U | 8U);
    EXPECT_FALSE(pids.owner_id(64U << 4U | 7U));
}

TEST(PidWords, RefuseOtherTerms) {
    const auto pids = *PidWords::resolve(layout_of("otp-25"), 1U << 18U);
    EXPECT_FALSE(pids.owner_id(0x3b));            // []
    EXPECT_FALSE(pids.owner_id(90U << 4U | 7U));  // a port
    EXPECT_FALSE(pids.owner_id(0));
}

TEST(AtomWords, GoBothWays) {
    const auto atoms = *AtomWords::resolve(layout_of("otp-25"));
    EXPECT_EQ(atoms.index(atoms.word(0)), 0U);
    EXPECT_EQ(atoms.index(atoms.word(12345)), 12345U);
    EXPECT_EQ(atoms.word(1), 0x4bU);  // true
    EXPECT_FALSE(atoms.index(0x3b));
}

}  // namespace
}  // namespace beamdump::beam
