#pragma once

#include "read/frames/frame_store.h"

#include <libdump/base/error.h>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/positioning.hpp>

#include <cstdint>
#include <ios>

namespace beamdump {

/// What a FlatDevice throws: Boost.Iostreams' way to say that a read failed.
class FlatReadError : public std::ios_base::failure {
  public:
    explicit FlatReadError(Error error)
        : std::ios_base::failure(error.message), error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const { return error_; }

  private:
    Error error_;
};

/// A dump's decompressed stream as a seekable input device of Boost.Iostreams. Copies share the
/// store and have positions of their own. Non-owning: the store must outlive it.
class FlatDevice {
  public:
    using char_type = char;
    struct category : boost::iostreams::input_seekable, boost::iostreams::device_tag {};

    explicit FlatDevice(FrameStore& store) : store_(&store) {}

    /// At most what is left of the frame at the position; -1 at the end of the stream. Throws
    /// FlatReadError.
    std::streamsize read(char* into, std::streamsize count);
    /// Throws std::ios_base::failure for a position outside the stream.
    std::streampos seek(boost::iostreams::stream_offset offset, std::ios_base::seekdir way);

  private:
    FrameStore* store_;
    std::uint64_t position_ = 0;
};

}  // namespace beamdump
