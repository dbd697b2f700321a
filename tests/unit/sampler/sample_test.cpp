#include <libsample/events/sample.h>

#include <gtest/gtest.h>

#include <cstring>
#include <linux/perf_event.h>
#include <vector>

namespace beamdump::sampler {
namespace {

/// The body of a sample's record.
class Record {
  public:
    Record() {
        word(0x7f00dead);
        halves(100, 101);
        word(5'000'000);
        word(PERF_SAMPLE_REGS_ABI_64);
        for (std::uint64_t name = 0; name < 24; ++name) {
            if (((kSampledRegisters >> name) & 1U) != 0) {
                word(1000 + name);
            }
        }
    }
    void word(std::uint64_t value) { append(&value, sizeof(value)); }
    void halves(std::uint32_t first, std::uint32_t second) {
        append(&first, sizeof(first));
        append(&second, sizeof(second));
    }
    std::vector<std::byte> bytes;

  private:
    void append(const void* from, std::size_t count) {
        const auto end = bytes.size();
        bytes.resize(end + count);
        std::memcpy(bytes.data() + end, from, count);
    }
};

TEST(ParseSample, RegistersAndStack) {
    Record record;
    record.word(16);
    record.word(0x11);
    record.word(0x22);
    record.word(8);  // of the 16 bytes the kernel could copy the first
    const auto sample = parse_sample(record.bytes, PERF_RECORD_MISC_USER);
    ASSERT_TRUE(sample && *sample);
    EXPECT_EQ((*sample)->thread, 101);
    EXPECT_EQ((*sample)->place, 0x7f00deadU);
    EXPECT_EQ((*sample)->time_ns, 5'000'000U);
    EXPECT_FALSE((*sample)->in_kernel);
    EXPECT_EQ((*sample)->at(Register::kStackPointer), 1007U);
    EXPECT_EQ((*sample)->at(Register::kProcess), 1021U);
    EXPECT_EQ((*sample)->at(Register::kHeapTop), 1023U);
    ASSERT_EQ((*sample)->stack.size(), 8U);
    EXPECT_EQ((*sample)->stack.front(), std::byte{0x11});
}

TEST(ParseSample, WithoutAStack) {
    Record record;
    record.word(0);
    const auto sample = parse_sample(record.bytes, PERF_RECORD_MISC_KERNEL);
    ASSERT_TRUE(sample && *sample);
    EXPECT_TRUE((*sample)->in_kernel);
    EXPECT_TRUE((*sample)->stack.empty());
}

TEST(ParseSample, AThreadWithoutUserCodeHasNoSample) {
    Record record;
    const std::uint64_t none = PERF_SAMPLE_REGS_ABI_NONE;
    std::memcpy(record.bytes.data() + 24, &none, sizeof(none));
    const auto sample = parse_sample(record.bytes, PERF_RECORD_MISC_KERNEL);
    ASSERT_TRUE(sample);
    EXPECT_FALSE(*sample);
}

TEST(ParseSample, EveryCutIsAnError) {
    Record record;
    record.word(16);
    record.word(0x11);
    record.word(0x22);
    record.word(16);
    for (std::size_t length = 0; length < record.bytes.size(); ++length) {
        const auto sample = parse_sample(std::span(record.bytes).first(length), 0);
        ASSERT_FALSE(sample) << length;
        EXPECT_EQ(sample.error().code, ErrorCode::kImplausible);
    }
    EXPECT_TRUE(parse_sample(record.bytes, 0));
}

TEST(ParseSample, RefusesOtherRegisters) {
    Record record;
    const std::uint64_t abi = PERF_SAMPLE_REGS_ABI_32;
    std::memcpy(record.bytes.data() + 24, &abi, sizeof(abi));
    EXPECT_FALSE(parse_sample(record.bytes, 0));
}

}  // namespace
}  // namespace beamdump::sampler
