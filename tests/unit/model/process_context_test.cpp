#include "open_bytes.h"

#include <libdump/model/process_context.h>

#include <gtest/gtest.h>

#include <array>

namespace beamdump::test {
namespace {

constexpr std::uint64_t kProcessBase = kHeapBase + 2 * 0x100000;  // of process 2

class ProcessContextTest : public ::testing::Test {
  protected:
    ProcessContextTest()
        : opened_(DumpBuilder::whole(small_frames())),
          run_(opened_.run("<0.2.0>")),
          context_(opened_.dump(), run_) {}

    OpenedBytes opened_;
    ProcessRun run_;
    ProcessContext context_;
};

TEST_F(ProcessContextTest, ReadsHeapStackFragmentsAndLiterals) {
    EXPECT_EQ(expect_value(context_.word(kProcessBase)), 0x0FU);
    EXPECT_EQ(expect_value(context_.word(kProcessBase + 0x80000)), kNil);
    EXPECT_EQ(expect_value(context_.word(kProcessBase + 0x90000 + 32)), 0x1FU);
    EXPECT_EQ(expect_value(context_.word(kLiteralBase + 16)), 0x1FU);
}

TEST_F(ProcessContextTest, OtherProcessesAreUnmapped) {
    const auto got = context_.word(kHeapBase + 0x100000);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kUnmapped);
    EXPECT_FALSE(opened_.dump().faults().first());
}

TEST_F(ProcessContextTest, GapBetweenFragmentsIsUnmapped) {
    EXPECT_EQ(context_.word(kProcessBase + 0x90000 + 16).error().code, ErrorCode::kUnmapped);
}

TEST_F(ProcessContextTest, FragmentsAreReadOnlyToTheirEnd) {
    std::array<std::uint64_t, 8> words{};
    EXPECT_EQ(expect_value(context_.words(kProcessBase + 0x90000, words)), 2U);
}

TEST_F(ProcessContextTest, MessageFragmentsHoldForOneMessage) {
    records::Message message;
    auto* fragment = message.add_fragment();
    fragment->set_address(0x500000);
    fragment->set_total_words(3);
    fragment->add_words(42);
    context_.set_message(&message);
    EXPECT_EQ(expect_value(context_.word(0x500000)), 42U);
    EXPECT_EQ(context_.word(0x500008).error().code, ErrorCode::kAbsent);
    EXPECT_EQ(context_.word(0x500018).error().code, ErrorCode::kUnmapped);
    context_.set_message(nullptr);
    EXPECT_EQ(context_.word(0x500000).error().code, ErrorCode::kUnmapped);
}

TEST_F(ProcessContextTest, AnswersFromTheNodesTables) {
    EXPECT_EQ(context_.atom(3), "lists");
    EXPECT_EQ(context_.catch_address(0), 0x7080U);
    EXPECT_EQ(context_.catch_address(1), std::nullopt);
    EXPECT_TRUE(context_.code_at(0x7050));
    const BinaryInfo binary = expect_value(context_.binary_at(kBinaryBase));
    EXPECT_EQ(binary.size_bytes, 100U);
    EXPECT_EQ(binary.captured_bytes, 8U);
    EXPECT_EQ(binary.references, 1U);
    EXPECT_EQ(context_.binary_at(1).error().code, ErrorCode::kAbsent);
}

}  // namespace
}  // namespace beamdump::test
