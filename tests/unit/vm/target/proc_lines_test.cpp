#include <libvm/target/process/proc_lines.h>

#include <gtest/gtest.h>

namespace beamdump::target {
namespace {

constexpr auto kStatus =
    "Name:\tbeam.smp\nTgid:\t17\nVmRSS:\t    1024 kB\nNoValue:\nx86_Thread_features:\tshstk\n";

TEST(ProcLines, ALineIsFoundByItsWholeName) {
    EXPECT_EQ(listed_text(kStatus, "Name"), "beam.smp");
    EXPECT_EQ(listed_text(kStatus, "x86_Thread_features"), "shstk");
    EXPECT_EQ(listed_text(kStatus, "NoValue"), "");
    EXPECT_EQ(listed_text(kStatus, "Nam"), std::nullopt);
    EXPECT_EQ(listed_text(kStatus, "gid"), std::nullopt);
    EXPECT_EQ(listed_text("inactive_file 5\nfile 7", "file"), "7");
}

TEST(ProcLines, ANumberMayHaveAUnit) {
    EXPECT_EQ(listed_number(kStatus, "Tgid"), 17U);
    EXPECT_EQ(listed_number(kStatus, "VmRSS"), 1024U);
    EXPECT_EQ(listed_bytes(kStatus, "VmRSS"), 1024U * 1024U);
    EXPECT_EQ(listed_number(kStatus, "Name"), std::nullopt);
    EXPECT_EQ(listed_number(kStatus, "NoValue"), std::nullopt);
    EXPECT_EQ(listed_bytes(kStatus, "VmSwap"), std::nullopt);
}

}  // namespace
}  // namespace beamdump::target
