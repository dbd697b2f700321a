#include <libdump/base/byte_sink.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>

#include <fmt/format.h>

#include <cerrno>

namespace beamdump {

namespace {

class DescriptorSink final : public ByteSink {
  public:
    explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        const WriteOutcome outcome = write_all(descriptor_, bytes);
        written_ += outcome.written;
        if (outcome.error_number == 0) {
            return {};
        }
        return std::unexpected(error_of(outcome.error_number));
    }

    Result<void> commit() override { return {}; }

  private:
    [[nodiscard]] Error error_of(int error_number) const {
        if (error_number == EPIPE) {
            return {
                ErrorCode::kClosedPipe,
                fmt::format("the reader of the output closed the pipe after {} bytes", written_)};
        }
        if (is_no_space(error_number)) {
            return {ErrorCode::kNoSpace,
                    fmt::format("the output accepted {} bytes and then no more ({}); free space "
                                "there or write elsewhere",
                                written_, system_error_text(error_number))};
        }
        return {ErrorCode::kIo, fmt::format("cannot write to the output after {} bytes: {}",
                                            written_, system_error_text(error_number))};
    }

    int descriptor_;
    std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<ByteSink> descriptor_sink(int descriptor) {
    return std::make_unique<DescriptorSink>(descriptor);
}

}  // namespace beamdump
