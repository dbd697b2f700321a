#include "cli/output_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

namespace beamdump::cli {

namespace {

/// Standard output as a sink.
class OutputSink final : public ByteSink {
  public:
    explicit OutputSink(render::Output& out) : out_(out) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        out_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        return state();
    }
    Result<void> commit() override {
        out_.flush();
        return state();
    }

  private:
    [[nodiscard]] Result<void> state() const {
        return out_.ok() ? Result<void>() : std::unexpected(*out_.error());
    }

    render::Output& out_;
};

}  // namespace

Result<std::unique_ptr<ByteSink>> open_sink(const OutputChoice& output, render::Output& out,
                                            PartialFile partial) {
    if (output.path == "-") {
        return std::make_unique<OutputSink>(out);
    }
    return open_file_sink(output.path, {.force = output.force, .partial = partial});
}

Error with_partial(Error error, const std::string& output) {
    const std::string partial = output + ".partial";
    std::error_code ignored;
    if (output != "-" && error.message.find(partial) == std::string::npos &&
        std::filesystem::exists(partial, ignored)) {
        error.message += fmt::format("; what was written is in {}", partial);
    }
    return error;
}

}  // namespace beamdump::cli
