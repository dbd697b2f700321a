#pragma once

#include <libdump/base/error.h>
#include <libdump/read/frames/frame_store.h>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/positioning.hpp>

#include <cstddef>
#include <cstdint>
#include <ios>
#include <span>

namespace beamdump {

/// A dump's decompressed stream as a seekable input device of Boost.Iostreams. Copies share the
/// store and have positions of their own. Non-owning: the store must outlive it.
class FlatDevice {
  public:
    using char_type = char;
    struct category : boost::iostreams::input_seekable, boost::iostreams::device_tag {};

    explicit FlatDevice(FrameStore& store) : store_(&store) {}

    /// At most the rest of the frame at the position; -1 at the end of the stream. Throws
    /// std::ios_base::failure, the error of Boost.Iostreams.
    std::streamsize read(char* into, std::streamsize count);
    /// Throws std::ios_base::failure for a position outside the stream.
    std::streampos seek(boost::iostreams::stream_offset offset, std::ios_base::seekdir way);

    /// Reads all of `into` from a position through Boost.Iostreams. Exceptions are caught here and
    /// returned as errors.
    Result<void> read_at(std::uint64_t offset, std::span<std::byte> into);

  private:
    FrameStore* store_;
    std::uint64_t position_ = 0;
};

}  // namespace beamdump
