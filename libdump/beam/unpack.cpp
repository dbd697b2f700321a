#include <libdump/beam/unpack.h>

#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <array>
#include <exception>

namespace beamdump {

Result<std::vector<std::uint8_t>> unpack(std::span<const std::uint8_t> packed,
                                         BeamPacking packing) {
    namespace io = boost::iostreams;
    std::vector<std::uint8_t> unpacked;
    std::array<char, 1U << 16U> piece{};
    try {
        io::filtering_istream stream;
        if (packing == BeamPacking::kGzip) {
            stream.push(io::gzip_decompressor());
        } else {
            stream.push(io::zlib_decompressor());
        }
        stream.push(io::array_source(reinterpret_cast<const char*>(packed.data()), packed.size()));
        auto& buffer = *stream.rdbuf();
        for (;;) {
            const std::streamsize got = buffer.sgetn(piece.data(), piece.size());
            if (got <= 0) {
                return unpacked;
            }
            unpacked.insert(unpacked.end(), piece.begin(), piece.begin() + got);
            if (unpacked.size() > kMaxUnpacked) {
                return fail(ErrorCode::kLimit, "it unpacks to more than 256 MiB");
            }
        }
    } catch (const std::exception& error) {
        return fail(ErrorCode::kCorrupt, fmt::format("its data is damaged: {}", error.what()));
    }
}

}  // namespace beamdump
