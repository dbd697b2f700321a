#include "open_store.h"
#include "support/memory_file.h"

#include <libdump/read/flat_device.h>

#include <boost/iostreams/stream.hpp>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace beamdump::test {
namespace {

class FlatDeviceTest : public ::testing::Test {
  protected:
    static std::string all(FrameStore& store) {
        boost::iostreams::stream<FlatDevice> stream{FlatDevice(store)};
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    MemoryFile file_{DumpBuilder::whole({.frame_bytes = 1024}, {.processes = 30})};
};

TEST_F(FlatDeviceTest, IsAStreamOfTheWholeDump) {
    FrameStore store = open_store(file_.path(), 1U << 20U);
    const std::string flat = all(store);
    EXPECT_EQ(flat.size(), store.index().flat_bytes());
    EXPECT_GT(store.index().frames().size(), 10U);
}

TEST_F(FlatDeviceTest, SeeksFromBothEndsAndFromWhereItIs) {
    FrameStore store = open_store(file_.path(), 1U << 20U);
    const std::string flat = all(store);
    boost::iostreams::stream<FlatDevice> stream{FlatDevice(store)};
    std::string part(100, '\0');
    const auto at = [&](std::size_t offset) {
        stream.read(part.data(), static_cast<std::streamsize>(part.size()));
        EXPECT_EQ(part, flat.substr(offset, part.size())) << "at " << offset;
    };
    stream.seekg(5000);
    at(5000);
    stream.seekg(-1100, std::ios::cur);
    at(4000);
    stream.seekg(-200, std::ios::end);
    at(flat.size() - 200);
    stream.seekg(0);
    at(0);
}

TEST_F(FlatDeviceTest, HoldsNoMoreFramesThanTheCacheMay) {
    constexpr std::size_t kCacheBytes = 4096;
    FrameStore store = open_store(file_.path(), kCacheBytes);
    all(store);
    EXPECT_LE(store.cache().held_bytes(), kCacheBytes);
    EXPECT_EQ(store.stats().frames_decompressed, store.index().frames().size())
        << "reading on decompresses each frame once";
}

TEST_F(FlatDeviceTest, RefusesPositionsOutsideTheStream) {
    FrameStore store = open_store(file_.path(), 1U << 20U);
    FlatDevice device(store);
    const auto end = static_cast<boost::iostreams::stream_offset>(store.index().flat_bytes());
    EXPECT_THROW(device.seek(-1, std::ios::beg), std::ios_base::failure);
    EXPECT_THROW(device.seek(1, std::ios::end), std::ios_base::failure);
    EXPECT_THROW(device.seek(INT64_MAX, std::ios::beg), std::ios_base::failure);
    EXPECT_THROW(device.seek(INT64_MIN, std::ios::cur), std::ios_base::failure);
    EXPECT_EQ(device.seek(0, std::ios::end), std::streampos(end));
    char byte = 0;
    EXPECT_EQ(device.read(&byte, 1), -1);
    std::array<std::byte, 2> bytes{};
    const auto beyond = device.read_at(store.index().flat_bytes() + 1, bytes);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(beyond.error().message.find("cannot seek"), std::string::npos);
    EXPECT_FALSE(device.read_at(store.index().flat_bytes() - 1, bytes));
    EXPECT_TRUE(device.read_at(store.index().flat_bytes() - 2, bytes));
}

}  // namespace
}  // namespace beamdump::test
