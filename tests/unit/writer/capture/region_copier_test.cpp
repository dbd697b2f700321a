#include "capture/copy/run_writer.h"
#include "support/fake_memory.h"
#include "support/memory_sink.h"

#include <gtest/gtest.h>

namespace beamdump::capture {
namespace {

constexpr Address kStart = 0x10000;

/// Says that every second page of 4 KiB is present.
class EverySecondPage final : public memory::PresentPages {
  public:
    Result<std::vector<memory::AddressRange>> present(memory::AddressRange range) override {
        std::vector<memory::AddressRange> parts;
        for (auto page = range.begin; page < range.end; page += kLeastPageBytes) {
            if (page / kLeastPageBytes % 2 == 0) {
                parts.push_back({page, std::min(page + kLeastPageBytes, range.end)});
            }
        }
        return parts;
    }
};

class RegionCopierTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto writer = DumpWriter::create(
            std::make_unique<test::MemorySink>(std::make_shared<test::SinkContent>()), {});
        ASSERT_TRUE(writer);
        writer_.emplace(std::move(*writer));
    }

    std::vector<records::RegionRef> copy(std::uint64_t words, memory::PresentPages* pages) {
        RegionCopier copier(*writer_, memory_, pages, format::TermScheme::kOtp25, secrets_);
        RegionCopier::Request request;
        request.kind = format::RegionKind::kHeap;
        request.address = kStart;
        request.total = words;
        std::vector<records::RegionRef> refs;
        auto done = copier.copy(request, [&](records::RegionRef& ref) {
            refs.push_back(ref);
            return Result<void>();
        });
        EXPECT_TRUE(done) << done.error().message;
        return refs;
    }

    test::FakeMemory memory_;
    SecretTexts secrets_;
    std::optional<DumpWriter> writer_;
};

TEST_F(RegionCopierTest, WholeRegionIsOneReference) {
    memory_.add("heap", kStart, 8000);
    const auto refs = copy(1000, nullptr);
    ASSERT_EQ(refs.size(), 1U);
    EXPECT_EQ(refs[0].here(), 1000U);
    EXPECT_EQ(refs[0].total(), 1000U);
    EXPECT_FALSE(refs[0].has_state());
}

TEST_F(RegionCopierTest, UnreadableTailIsMarkedAndNotZero) {
    memory_.add("heap", kStart, 4000);
    const auto refs = copy(1000, nullptr);
    ASSERT_EQ(refs.size(), 1U);
    EXPECT_EQ(refs[0].here(), 500U);
    EXPECT_EQ(refs[0].state(), static_cast<std::uint32_t>(format::RegionState::kUnreadable));
}

TEST_F(RegionCopierTest, AbsentPagesAreNamedAndNotRead) {
    memory_.add("heap", kStart, 4 * kLeastPageBytes);
    EverySecondPage pages;
    const auto refs = copy(4 * kLeastPageBytes / 8, &pages);
    ASSERT_EQ(refs.size(), 4U);
    for (std::size_t i = 0; i < refs.size(); ++i) {
        EXPECT_EQ(refs[i].address(), kStart + i * kLeastPageBytes);
        EXPECT_EQ(refs[i].total(), kLeastPageBytes / 8);
        EXPECT_EQ(refs[i].here(), i % 2 == 0 ? kLeastPageBytes / 8 : 0);
        EXPECT_EQ(refs[i].state(),
                  i % 2 == 0 ? 0U : static_cast<std::uint32_t>(format::RegionState::kNotPresent));
    }
    EXPECT_EQ(memory_.stats().bytes, 2 * kLeastPageBytes);
}

TEST_F(RegionCopierTest, DigestTellsContentsApart) {
    constexpr std::uint64_t kBytes = 1U << 20U;
    memory_.add("binary", kStart, kBytes);
    RegionCopier copier(*writer_, memory_, nullptr, format::TermScheme::kOtp25, secrets_);
    RegionCopier::Request request;
    request.unit = format::RegionUnit::kBytes;
    request.address = kStart;
    request.total = kBytes;
    const auto before = copier.digest(request);
    ASSERT_TRUE(before);
    EXPECT_EQ(copier.digest(request).value(), *before);
    memory_.put(kStart + kBytes - 1, std::byte{1});
    EXPECT_NE(copier.digest(request).value(), *before);
    memory_.put(kStart + kBytes - 1, std::byte{0});
    request.total -= 1;
    EXPECT_NE(copier.digest(request).value(), *before);
}

TEST_F(RegionCopierTest, DigestLeavesAbsentPagesAlone) {
    memory_.add("binary", kStart, 4 * kLeastPageBytes);
    EverySecondPage pages;
    RegionCopier copier(*writer_, memory_, &pages, format::TermScheme::kOtp25, secrets_);
    RegionCopier::Request request;
    request.unit = format::RegionUnit::kBytes;
    request.address = kStart;
    request.total = 4 * kLeastPageBytes;
    ASSERT_TRUE(copier.digest(request));
    EXPECT_EQ(memory_.stats().bytes, 2 * kLeastPageBytes);
}

TEST_F(RegionCopierTest, NothingAtAllIsNoReference) {
    EXPECT_TRUE(copy(0, nullptr).empty());
}

}  // namespace
}  // namespace beamdump::capture
