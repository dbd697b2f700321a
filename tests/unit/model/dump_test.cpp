#include "open_bytes.h"

#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

TEST(Dump, OpensWithoutReadingWhatIsNotAskedFor) {
    DumpShape shape;
    shape.processes = 500;
    shape.heap_words = 2000;
    OpenedBytes opened(DumpBuilder::whole(small_frames(), shape));
    EXPECT_GT(opened.dump().reader().frames(), 500U);
    EXPECT_LE(opened.dump().reader().stats().frames_decompressed, 4U);
    EXPECT_EQ(opened.dump().node().otp_release(), "25");
}

TEST(Dump, NamesAProcessThatIsNotThere) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    const auto by_pid = opened.dump().find_process("<0.77.0>");
    ASSERT_FALSE(by_pid);
    EXPECT_EQ(by_pid.error().code, ErrorCode::kNotFound);
    EXPECT_NE(by_pid.error().message.find("<0.77.0>"), std::string::npos);
    const auto by_name = opened.dump().find_process("nobody");
    ASSERT_FALSE(by_name);
    EXPECT_EQ(by_name.error().code, ErrorCode::kNotFound);
    EXPECT_NE(by_name.error().message.find("nobody"), std::string::npos);
    // An atom that names no process.
    EXPECT_EQ(opened.dump().find_process("lists").error().code, ErrorCode::kNotFound);
}

TEST(Dump, LiteralsOfACutDumpAreThere) {
    DumpShape shape;
    shape.processes = 50;
    DumpBuilder builder(small_frames(), shape);
    builder.add_all();
    std::vector<std::uint64_t> filler(5000, kNil);
    builder.add_region(format::OwnerKind::kNode, 0, format::RegionKind::kUnknown, 8, filler);
    OpenedBytes opened(without_trailer(builder.finish()));
    ASSERT_NE(opened.dump().reader().recovered(), nullptr);
    std::uint64_t word = 0;
    EXPECT_EQ(expect_value(opened.dump().literals().words(kLiteralBase, std::span(&word, 1))), 1U);
    EXPECT_EQ(word, 0x0FU);
    EXPECT_EQ(expect_value(opened.dump().binaries().at(kBinaryBase))->size_bytes(), 100U);
    EXPECT_TRUE(opened.dump().code_at(0x7050));
}

}  // namespace
}  // namespace beamdump::test
