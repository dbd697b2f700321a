#include <libdump/write/dump_start.h>

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <sys/random.h>

namespace beamdump {

namespace {

constexpr unsigned kMaxThreads = 256;

}  // namespace

std::uint64_t random_dump_id() {
    std::uint64_t id = 0;
    if (::getrandom(&id, sizeof(id), 0) != sizeof(id)) {
        std::random_device device;
        id = static_cast<std::uint64_t>(device()) << 32U | device();
    }
    return id;
}

std::int64_t now_us() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

Result<void> check_options(const DumpWriterOptions& options) {
    if (options.frame_bytes < format::kMinFrameBytes ||
        options.frame_bytes > format::kMaxFrameBytes || options.frame_bytes % 8 != 0) {
        return fail(
            ErrorCode::kUsage,
            fmt::format("frames cannot have {} bytes: give a multiple of 8 from {} to {}",
                        options.frame_bytes, format::kMinFrameBytes, format::kMaxFrameBytes));
    }
    if (options.threads < 1 || options.threads > kMaxThreads) {
        return fail(ErrorCode::kUsage, fmt::format("cannot compress with {} threads: give 1 to {}",
                                                   options.threads, kMaxThreads));
    }
    return {};
}

}  // namespace beamdump
