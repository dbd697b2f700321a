#include <libvm/memory/pagemap.h>
#include <libvm/memory/process_memory.h>
#include <libvm/target/process/proc_directory.h>
#include <libvm/target/twin/gadgets.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <unistd.h>

namespace beamdump::target {
namespace {

std::vector<std::byte> code(std::initializer_list<unsigned char> bytes) {
    std::vector<std::byte> result;
    for (const auto byte : bytes) {
        result.push_back(std::byte{byte});
    }
    return result;
}

TEST(FindGadgets, InCodeWithBoth) {
    const auto text =
        code({0x90, 0x0f, 0x05, 0xc3, 0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x90});
    Gadgets found;
    find_gadgets_in(text, 0x1000, found);
    EXPECT_EQ(found, (Gadgets{0x1001, 0x1005}));
}

TEST(FindGadgets, TheShortFormOfTheSecondIsFound) {
    Gadgets found;
    find_gadgets_in(code({0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}), 0x1000, found);
    EXPECT_EQ(found, (Gadgets{0, 0x1000}));
}

TEST(FindGadgets, KeepsWhatWasFoundAndTakesNoOtherCall) {
    Gadgets found{0x10, 0};
    find_gadgets_in(code({0x0f, 0x05, 0xc3, 0xb8, 0x0e, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x05}), 0x1000,
                    found);
    EXPECT_EQ(found, (Gadgets{0x10, 0}));
}

TEST(FindGadgets, FindsThemInTheCodeOfThisProcess) {
    auto memory = memory::ProcessMemory::open(::getpid(), memory::ReadWay::kProcMem).value();
    auto pages = memory::Pagemap::open(::getpid()).value();
    const auto text = ProcDirectory::open(::getpid())->read("maps").value();
    const auto mappings = Mappings::parse(text).value();
    const auto found = find_gadgets(*memory, *pages, mappings);
    ASSERT_TRUE(found) << found.error().message;
    for (const auto address : {found->syscall_return, found->sigreturn}) {
        const auto* mapping = mappings.find(address);
        ASSERT_NE(mapping, nullptr);
        EXPECT_TRUE(mapping->executable && !mapping->writable);
    }
    EXPECT_TRUE(verify_gadgets(*memory, *found));
    const auto changed = verify_gadgets(*memory, {found->syscall_return + 1, found->sigreturn});
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, ErrorCode::kUnsupported);
}

TEST(FindGadgets, NoneWithoutCode) {
    auto memory = memory::ProcessMemory::open(::getpid(), memory::ReadWay::kProcMem).value();
    auto pages = memory::Pagemap::open(::getpid()).value();
    const auto found = find_gadgets(*memory, *pages, Mappings());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace beamdump::target
