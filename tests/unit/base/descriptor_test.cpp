#include <libdump/base/descriptor.h>
#include <libdump/base/system_error.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace beamdump {
namespace {

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) != -1;
}

Descriptor opened() {
    return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

TEST(Descriptor, ClosesWhatItOwns) {
    int number = -1;
    {
        const Descriptor descriptor = opened();
        ASSERT_TRUE(descriptor.valid());
        number = descriptor.get();
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, MovingHandsItOver) {
    Descriptor first = opened();
    Descriptor second = opened();
    const int kept = first.get();
    const int replaced = second.get();
    second = std::move(first);
    EXPECT_EQ(second.get(), kept);
    EXPECT_TRUE(is_open(kept));
    EXPECT_FALSE(is_open(replaced));
    second.close();
    EXPECT_FALSE(second.valid());
    EXPECT_FALSE(is_open(kept));
}

TEST(SystemError, GivesTheSystemsWords) {
    EXPECT_EQ(system_error_text(ENOSPC), "No space left on device");
}

}  // namespace
}  // namespace beamdump
