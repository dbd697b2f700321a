#include "render/report/packed_output.h"

#include <libdump/base/base64.h>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <exception>
#include <span>

namespace beamdump::render {

class PackedOutput::Stream {
  public:
    explicit Stream(Output& page) : text_{page}, base64_(text_) {
        stream_.push(boost::iostreams::zlib_compressor());
        stream_.push(Device{&base64_});
    }

    Result<void> write(std::string_view text) {
        try {
            stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
        } catch (const std::exception& error) {
            return fail(ErrorCode::kIo, fmt::format("compressing the page: {}", error.what()));
        }
        return text_.page.ok() ? Result<void>() : std::unexpected(*text_.page.error());
    }

    void finish() {
        stream_.reset();
        base64_.finish();
    }

  private:
    struct PageText {
        Output& page;
        void put(char character) { page.write(character); }
    };
    /// Where the compressed bytes go.
    struct Device {
        using char_type = char;
        using category = boost::iostreams::sink_tag;

        Base64<PageText>* base64;  // non-owning: a device is copied

        std::streamsize write(const char* bytes, std::streamsize count) const {
            base64->add(
                {reinterpret_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(count)});
            return count;
        }
    };

    PageText text_;
    Base64<PageText> base64_;
    boost::iostreams::filtering_ostream stream_;
};

PackedOutput::PackedOutput(Output& page) : stream_(std::make_unique<Stream>(page)) {}

PackedOutput::~PackedOutput() = default;

Result<void> PackedOutput::put(std::string_view text) {
    return stream_->write(text);
}

void PackedOutput::finish() {
    flush();
    stream_->finish();
}

}  // namespace beamdump::render
