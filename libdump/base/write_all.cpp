#include <libdump/base/write_all.h>

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace beamdump {

namespace {

/// A non-blocking pipe or socket with a slow reader: wait until it is writable.
void wait_until_writable(int descriptor) {
    pollfd waited{.fd = descriptor, .events = POLLOUT, .revents = 0};
    ::poll(&waited, 1, -1);
}

}  // namespace

WriteOutcome write_all(int descriptor, std::span<const std::byte> bytes) {
    WriteOutcome outcome;
    while (outcome.written < bytes.size()) {
        const auto rest = bytes.subspan(outcome.written);
        const ssize_t count = ::write(descriptor, rest.data(), rest.size());
        if (count >= 0) {
            outcome.written += static_cast<std::uint64_t>(count);
        } else if (errno == EAGAIN) {
            wait_until_writable(descriptor);
        } else if (errno != EINTR) {
            outcome.error_number = errno;
            break;
        }
    }
    return outcome;
}

bool is_no_space(int error_number) {
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

}  // namespace beamdump
