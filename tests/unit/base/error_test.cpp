#include <libdump/base/error.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(Error, WrapPutsWhatWasDoneBeforeTheSentence) {
    const Result<int> failed =
        wrap("reading atoms", Error{ErrorCode::kUnmapped, "nothing is mapped at 0x10"});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kUnmapped);
    EXPECT_EQ(failed.error().message, "reading atoms: nothing is mapped at 0x10");
}

TEST(Error, FailIsAnError) {
    const Result<void> failed = fail(ErrorCode::kLimit, "too many");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kLimit);
    EXPECT_EQ(failed.error().message, "too many");
}

}  // namespace
}  // namespace beamdump
