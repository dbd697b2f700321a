#include "open_bytes.h"

#include <libdump/model/process_context.h>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

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

/// Two packs whose addresses overlap, as rows of an ETS table have them, and one that is no pack.
class OverlappingPacks : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kFirst = 0x600000;
    static constexpr std::uint64_t kLast = 0x600200;
    static constexpr std::uint64_t kLost = 0x601000;

    void open(bool with_lost) {
        DumpBuilder builder(small_frames(), {});
        builder.add_all();
        add(builder, {kFirst, kFirst + 0x100});
        add(builder, {kFirst + 0x40, kLast});
        if (with_lost) {
            run_.directory.packed_regions.push_back(
                {builder.append(format::RecordKind::kTimers, records::Timers()), 0, 1, kFirst,
                 kLost});
        }
        opened_.emplace(builder.finish());
        context_.emplace(opened_->dump(), run_);
    }
    void add(DumpBuilder& builder, const std::vector<std::uint64_t>& addresses) {
        records::PackedRegions pack;
        for (const auto address : addresses) {
            auto& region = *pack.add_region();
            region.set_address(address);
            region.set_total_words(3);
            region.add_words(address);
            region.add_words(address + 8);
        }
        run_.directory.packed_regions.push_back(
            {builder.append(format::RecordKind::kPackedRegions, pack), 0, addresses.size(),
             addresses.front(), addresses.back() + 24});
    }

    ProcessRun run_;
    std::optional<OpenedBytes> opened_;
    std::optional<ProcessContext> context_;
};

TEST_F(OverlappingPacks, EachRegionIsFound) {
    for (const bool with_lost : {false, true}) {
        run_ = {};
        open(with_lost);
        for (const auto address : {kFirst, kFirst + 0x40, kFirst + 0x100, kLast}) {
            std::array<std::uint64_t, 8> words{};
            EXPECT_EQ(expect_value(context_->words(address, words)), 2U);
            EXPECT_EQ(words[0], address);
            EXPECT_EQ(expect_value(context_->word(address + 8)), address + 8);
            EXPECT_EQ(context_->word(address + 16).error().code, ErrorCode::kAbsent);
            EXPECT_EQ(context_->words_begin(address + 16), address);
        }
        EXPECT_FALSE(opened_->dump().faults().first());
    }
}

TEST_F(OverlappingPacks, BetweenRegionsIsUnmapped) {
    open(false);
    for (const auto address : {kFirst + 0x18, kFirst + 0x58, kLast - 8}) {
        EXPECT_EQ(context_->word(address).error().code, ErrorCode::kUnmapped);
        EXPECT_EQ(context_->words_begin(address), 0U);
    }
    EXPECT_FALSE(opened_->dump().faults().first());
}

TEST_F(OverlappingPacks, AWordThatALostPackMayHaveIsAnError) {
    open(true);
    EXPECT_NE(context_->word(kFirst + 0x18).error().code, ErrorCode::kUnmapped);
    EXPECT_TRUE(opened_->dump().faults().first());
}

}  // namespace
}  // namespace beamdump::test
