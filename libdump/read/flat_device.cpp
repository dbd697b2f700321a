#include <libdump/read/flat_device.h>

#include <boost/iostreams/read.hpp>
#include <boost/iostreams/seek.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace beamdump {

namespace {

/// Carries an Error through Boost.Iostreams, whose devices report errors only by throwing: from
/// read() and seek() to read_at().
class FlatReadError : public std::ios_base::failure {
  public:
    explicit FlatReadError(Error error)
        : std::ios_base::failure(error.message), error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const { return error_; }

  private:
    Error error_;
};

}  // namespace

std::streamsize FlatDevice::read(char* into, std::streamsize count) {
    if (position_ >= store_->index().flat_bytes()) {
        return -1;
    }
    if (count <= 0) {
        return 0;
    }
    const auto frame = store_->at(position_);
    if (!frame) {
        throw FlatReadError(frame.error());
    }
    const auto rest = (*frame)->bytes().subspan(position_ - (*frame)->where().flat_offset);
    const std::size_t copied = std::min(rest.size(), static_cast<std::size_t>(count));
    std::memcpy(into, rest.data(), copied);
    position_ += copied;
    return static_cast<std::streamsize>(copied);
}

std::streampos FlatDevice::seek(boost::iostreams::stream_offset offset,
                                std::ios_base::seekdir way) {
    const auto end = static_cast<boost::iostreams::stream_offset>(store_->index().flat_bytes());
    const auto here = static_cast<boost::iostreams::stream_offset>(position_);
    const auto base = way == std::ios_base::beg ? 0 : way == std::ios_base::cur ? here : end;
    if (offset < -base || offset > end - base) {
        throw FlatReadError({ErrorCode::kCorrupt,
                             fmt::format("cannot seek {} bytes from {} in {}: its stream has {}",
                                         offset, base, store_->file().name(), end)});
    }
    position_ = static_cast<std::uint64_t>(base + offset);
    return boost::iostreams::offset_to_position(base + offset);
}

Result<void> FlatDevice::read_at(std::uint64_t offset, std::span<std::byte> into) {
    try {
        boost::iostreams::seek(*this, static_cast<boost::iostreams::stream_offset>(offset),
                               std::ios_base::beg);
        while (!into.empty()) {
            const std::streamsize count =
                boost::iostreams::read(*this, reinterpret_cast<char*>(into.data()),
                                       static_cast<std::streamsize>(into.size()));
            if (count < 0) {
                return fail(ErrorCode::kCorrupt, fmt::format("{} ends at flat offset {}",
                                                             store_->file().name(), position_));
            }
            into = into.subspan(static_cast<std::size_t>(count));
        }
    } catch (const FlatReadError& failure) {
        return std::unexpected(failure.error());
    } catch (const std::exception& failure) {
        return fail(ErrorCode::kIo, failure.what());
    }
    return {};
}

}  // namespace beamdump
