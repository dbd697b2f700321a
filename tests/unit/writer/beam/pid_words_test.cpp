#include "beam/process.h"

#include <gtest/gtest.h>

#include <builtin_layouts.h>

namespace beamdump::beam {
namespace {

Layout otp25() {
    for (const auto& builtin : builtin_layouts()) {
        if (builtin.name == "otp-25") {
            return *Layout::parse(builtin.json);
        }
    }
    throw std::logic_error("no layout for OTP 25");
}

TEST(PidWords, GiveNumberAndSerial) {
    const auto pids = *PidWords::resolve(otp25());
    // <0.90.0> in slot 0x1234: number 90, serial 0
    EXPECT_EQ(pids.owner_id(0x0000123400000000U | 90U << 4U | 3U), 90U);
    // <0.90.7>: the serial starts at bit 15 of the data
    EXPECT_EQ(pids.owner_id((7U << 15U | 90U) << 4U | 3U), (std::uint64_t{7} << 32U) | 90U);
}

TEST(PidWords, RefuseOtherTerms) {
    const auto pids = *PidWords::resolve(otp25());
    EXPECT_FALSE(pids.owner_id(0x3b));            // []
    EXPECT_FALSE(pids.owner_id(90U << 4U | 7U));  // a port
    EXPECT_FALSE(pids.owner_id(0));
}

TEST(AtomWords, GoBothWays) {
    const auto atoms = *AtomWords::resolve(otp25());
    EXPECT_EQ(atoms.index(atoms.word(0)), 0U);
    EXPECT_EQ(atoms.index(atoms.word(12345)), 12345U);
    EXPECT_EQ(atoms.word(1), 0x4bU);  // true
    EXPECT_FALSE(atoms.index(0x3b));
}

}  // namespace
}  // namespace beamdump::beam
