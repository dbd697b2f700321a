#include <libvm/target/image/elf_image.h>
#include <libvm/target/image/vm_image.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <span>
#include <vector>

// Found again through the symbol table of this test's own executable.
extern "C" std::uint64_t beamdump_test_marker;
std::uint64_t beamdump_test_marker = 0x1234;

namespace beamdump::target {
namespace {

constexpr auto kSelf = "/proc/self/exe";

bool in(const std::vector<memory::AddressRange>& ranges, std::uint64_t address) {
    return std::ranges::any_of(ranges, [&](const auto& range) { return range.contains(address); });
}

TEST(ElfImage, FindsSymbolsSegmentsAndBuildId) {
    const auto image = ElfImage::open(kSelf, 0).value();
    const auto marker = image.symbol("beamdump_test_marker");
    ASSERT_TRUE(marker);
    EXPECT_EQ(marker->size, 8U);
    EXPECT_THAT(marker->table, ::testing::AnyOf("symtab", "dynsym"));
    EXPECT_TRUE(in(image.writable(), marker->address));
    const auto main = image.symbol("main");
    ASSERT_TRUE(main);
    EXPECT_TRUE(in(image.executable(), main->address));
    EXPECT_FALSE(in(image.read_only(), main->address));
    EXPECT_FALSE(image.read_only().empty());
    EXPECT_FALSE(image.symbol("no_such_symbol_in_this_program"));
    EXPECT_TRUE(image.build_id().empty() || image.build_id().size() == 40);
}

/// As programs of aarch64 are linked.
TEST(ElfImage, ConstantsMayBeInTheSegmentOfTheCode) {
    const auto image = ElfImage::open(BEAMDUMP_JOINED_SAMPLE, 0).value();
    ASSERT_FALSE(image.executable().empty());
    ASSERT_EQ(image.read_only().size(), image.executable().size());
    EXPECT_EQ(image.read_only()[0].begin, image.executable()[0].begin);
    EXPECT_EQ(image.read_only()[0].end, image.executable()[0].end);
}

TEST(ElfImage, TheFirstBytesHaveTheSegmentsOfTheFile) {
    std::vector<char> head(4096);
    ASSERT_TRUE(std::ifstream(kSelf, std::ios::binary)
                    .read(head.data(), static_cast<std::streamsize>(head.size())));
    const auto bytes = std::as_bytes(std::span(head));
    const auto image = ElfImage::open(kSelf, 0x7f0000000000).value();
    EXPECT_GT(image.segments().size(), 4U);
    EXPECT_EQ(segments_of(bytes), image.segments());
    EXPECT_EQ(build_id_of(bytes), image.build_id());
    EXPECT_TRUE(segments_of(bytes.first(200)).empty());
    EXPECT_TRUE(segments_of(bytes.subspan(1)).empty());
    EXPECT_TRUE(segments_of({}).empty());
    // Eight bytes of p_memsz of the first one are 40 bytes after its start, at 64.
    ++head[64 + 40];
    EXPECT_NE(segments_of(bytes), image.segments());
}

TEST(ElfImage, AddsTheBias) {
    auto image = ElfImage::open(kSelf, 0).value();
    const auto biased = ElfImage::open(kSelf, 0x7f0000000000).value();
    const auto plain = image.symbol("beamdump_test_marker")->address;
    EXPECT_EQ(biased.symbol("beamdump_test_marker")->address, plain + 0x7f0000000000);
    EXPECT_EQ(biased.begin(), image.begin() + 0x7f0000000000);
    image.move_by(0x7f0000000000);
    EXPECT_EQ(image.begin(), biased.begin());
    EXPECT_EQ(image.writable().front().end, biased.writable().front().end);
}

TEST(ElfImage, UndefinedSymbolsAreNone) {
    const auto image = ElfImage::open(kSelf, 0).value();
    EXPECT_FALSE(image.symbol("process_vm_readv"));
    EXPECT_FALSE(image.symbol(""));
}

TEST(ElfImage, RefusesWhatIsNoExecutable) {
    EXPECT_EQ(ElfImage::open("/proc/self/maps", 0).error().code, ErrorCode::kNotABeam);
    EXPECT_EQ(ElfImage::open("/dev/null", 0).error().code, ErrorCode::kNotABeam);
    const auto missing = ElfImage::open("/no/such/file", 0);
    EXPECT_EQ(missing.error().code, ErrorCode::kIo);
    EXPECT_THAT(missing.error().message, ::testing::HasSubstr("/no/such/file"));
}

TEST(VmImage, ThisProgramIsNoVm) {
    // Although it links the code that searches for the VM's strings.
    EXPECT_FALSE(is_vm(ElfImage::open(kSelf, 0).value(), kSelf));
    EXPECT_FALSE(runs_vm(::getpid()));
}

}  // namespace
}  // namespace beamdump::target
