#include <libvm/target/process/proc_lines.h>

#include <gtest/gtest.h>

namespace beamdump::target {
namespace {

constexpr auto kLines =
    "Name:\tbeam.smp\nTgid:\t17\nVmRSS:\t    1024 kB\nNoValue:\nx86_Thread_features:\tshstk\n";

TEST(ProcLines, ALineIsFoundByItsWholeName) {
    EXPECT_EQ(listed_text(kLines, "Name"), "beam.smp");
    EXPECT_EQ(listed_text(kLines, "x86_Thread_features"), "shstk");
    EXPECT_EQ(listed_text(kLines, "NoValue"), "");
    EXPECT_EQ(listed_text(kLines, "Nam"), std::nullopt);
    EXPECT_EQ(listed_text(kLines, "gid"), std::nullopt);
    EXPECT_EQ(listed_text("inactive_file 5\nfile 7", "file"), "7");
}

TEST(ProcLines, ANumberMayHaveAUnit) {
    EXPECT_EQ(listed_number(kLines, "Tgid"), 17U);
    EXPECT_EQ(listed_number(kLines, "VmRSS"), 1024U);
    EXPECT_EQ(listed_bytes(kLines, "VmRSS"), 1024U * 1024U);
    EXPECT_EQ(listed_number(kLines, "Name"), std::nullopt);
    EXPECT_EQ(listed_number(kLines, "NoValue"), std::nullopt);
    EXPECT_EQ(listed_bytes(kLines, "VmSwap"), std::nullopt);
}

}  // namespace
}  // namespace beamdump::target
