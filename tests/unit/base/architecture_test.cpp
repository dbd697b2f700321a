#include <libdump/base/architecture.h>
#include <libdump/base/page_size.h>

#include <gtest/gtest.h>

#include <elf.h>
#include <unistd.h>

namespace beamdump {
namespace {

TEST(Architecture, HasItsName) {
    for (const auto one : {Architecture::kX86_64, Architecture::kAarch64}) {
        EXPECT_EQ(architecture_named(name_of(one)), one);
    }
    EXPECT_EQ(name_of(Architecture::kX86_64), "x86-64");
    EXPECT_EQ(architecture_named("arm64"), std::nullopt);
    EXPECT_EQ(architecture_named(""), std::nullopt);
}

TEST(Architecture, IsKnownByTheMachineOfAFile) {
    EXPECT_EQ(architecture_of_elf(EM_X86_64), Architecture::kX86_64);
    EXPECT_EQ(architecture_of_elf(EM_AARCH64), Architecture::kAarch64);
    EXPECT_EQ(architecture_of_elf(EM_386), std::nullopt);
    EXPECT_EQ(architecture_of_elf(EM_NONE), std::nullopt);
}

TEST(PageSize, IsTheSystemsAndWholeSmallestPages) {
    EXPECT_EQ(page_bytes(), static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(page_bytes() % kLeastPageBytes, 0U);
}

}  // namespace
}  // namespace beamdump
