#include <libdump/base/byte_sink.h>
#include <libdump/base/descriptor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        reading = Descriptor(ends[0]);
        writing = Descriptor(ends[1]);
    }
    Descriptor reading;
    Descriptor writing;
};

const std::vector<std::byte> kBytes(200000, std::byte{7});

TEST(DescriptorSink, WritesAllToASlowReader) {
    Pipe pipe;
    ASSERT_EQ(::fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK), 0);
    std::size_t got = 0;
    std::jthread reader([&] {
        std::array<std::byte, 1000> part{};
        ssize_t count = 0;
        while ((count = ::read(pipe.reading.get(), part.data(), part.size())) > 0) {
            got += static_cast<std::size_t>(count);
        }
    });
    const auto sink = descriptor_sink(pipe.writing.get());
    EXPECT_TRUE(sink->write(kBytes));
    EXPECT_TRUE(sink->commit());
    pipe.writing.close();
    reader.join();
    EXPECT_EQ(got, kBytes.size());
}

TEST(DescriptorSink, AClosedReaderIsNamed) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    pipe.reading.close();
    const auto written = descriptor_sink(pipe.writing.get())->write(kBytes);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kClosedPipe);
    EXPECT_THAT(written.error().message, HasSubstr("after 0 bytes"));
}

TEST(DescriptorSink, AFullDeviceIsNamed) {
    const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full.valid());
    const auto written = descriptor_sink(full.get())->write(kBytes);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(written.error().message, HasSubstr("0 bytes"));
}

}  // namespace
}  // namespace beamdump::test
