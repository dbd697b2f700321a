#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/base/bytes.h>
#include <libdump/base/error.h>
#include <libdump/base/return_if_error.h>
#include <libdump/write/dump_writer.h>

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace beamdump {

/// A number that no other dump has: random.
std::uint64_t random_dump_id();

/// Wall clock, microseconds since the Unix epoch.
std::int64_t now_us();

/// kUsage for a size of frames or a number of threads that no dump can be written with.
Result<void> check_options(const DumpWriterOptions& options);

/// Writes a skippable frame's header and a structure that ends in a checksum of all before it;
/// returns their bytes.
template <typename T>
Result<std::uint32_t> write_skippable(ByteSink& sink, std::uint32_t magic, T content) {
    content.checksum = XXH64(&content, offsetof(T, checksum), 0);
    struct Frame {
        std::uint32_t magic;
        std::uint32_t bytes;
        T content;
    };
    static_assert(sizeof(Frame) == 8 + sizeof(T));
    const Frame frame{magic, sizeof(T), content};
    RETURN_IF_ERROR(sink.write(bytes_of(frame)));
    return static_cast<std::uint32_t>(sizeof(frame));
}

}  // namespace beamdump
