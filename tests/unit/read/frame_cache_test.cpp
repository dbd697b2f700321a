#include <libdump/read/frames/frame_cache.h>

#include <gtest/gtest.h>

#include <cstring>

namespace beamdump {
namespace {

/// A frame of one record.
std::shared_ptr<const Frame> frame(std::size_t bytes) {
    std::vector<std::byte> content(bytes);
    const format::RecordHeader header{
        .kind = 3, .flags = 0, .payload_bytes = static_cast<std::uint32_t>(bytes - 8)};
    std::memcpy(content.data(), &header, sizeof(header));
    return std::make_shared<const Frame>(*Frame::create({}, std::move(content)));
}

TEST(FrameCache, DropsWhatWasNotUsedForLongest) {
    const std::size_t one = frame(1024)->memory_bytes();
    FrameCache cache(3 * one);
    for (std::size_t i = 0; i < 3; ++i) {
        cache.insert(i, frame(1024));
    }
    EXPECT_NE(cache.find(0), nullptr);
    cache.insert(3, frame(1024));
    EXPECT_EQ(cache.held_bytes(), 3 * one);
    EXPECT_NE(cache.find(0), nullptr);
    EXPECT_EQ(cache.find(1), nullptr);
    EXPECT_NE(cache.find(2), nullptr);
    EXPECT_NE(cache.find(3), nullptr);
}

TEST(FrameCache, HoldsOneFrameHoweverLarge) {
    FrameCache cache(100);
    cache.insert(1, frame(4096));
    EXPECT_NE(cache.find(1), nullptr);
    cache.insert(2, frame(4096));
    EXPECT_EQ(cache.find(1), nullptr);
    EXPECT_NE(cache.find(2), nullptr);
    EXPECT_EQ(cache.held_bytes(), frame(4096)->memory_bytes());
}

TEST(FrameCache, AFrameInUseOutlivesItsPlace) {
    FrameCache cache(100);
    cache.insert(1, frame(4096));
    const auto used = cache.find(1);
    cache.insert(2, frame(4096));
    EXPECT_EQ(used->bytes().size(), 4096U);
    EXPECT_EQ(used.use_count(), 1);
}

TEST(Frame, RecordsMustFillItExactly) {
    std::vector<std::byte> content(64);
    format::RecordHeader header{.kind = 3, .flags = 0, .payload_bytes = 49};
    std::memcpy(content.data(), &header, sizeof(header));
    EXPECT_TRUE(Frame::create({}, content)) << "49 bytes are padded to 56";
    header.payload_bytes = 57;
    std::memcpy(content.data(), &header, sizeof(header));
    EXPECT_FALSE(Frame::create({}, content));
    header.payload_bytes = UINT32_MAX;
    std::memcpy(content.data(), &header, sizeof(header));
    EXPECT_FALSE(Frame::create({}, content));
}

}  // namespace
}  // namespace beamdump
