// Captures a running node without proving that what was copied did not change: what comes of it
// shows that the tests for torn processes find them.

#include "capture/capture.h"

#include <charconv>
#include <iostream>
#include <string_view>

namespace {

using namespace beamdump;

class Silence final : public capture::ProgressListener {
  public:
    void update(const capture::Progress& /*progress*/) override {}
};

}  // namespace

int main(int count, char** arguments) {
    capture::CaptureOptions options;
    const std::string_view pid = count == 3 ? arguments[1] : "";
    if (std::from_chars(pid.begin(), pid.end(), options.pid).ec != std::errc()) {
        std::cerr << "usage: capture_unproven PID FILE\n";
        return 2;
    }
    options.mode = records::CAPTURE_MODE_LIVE;
    options.binary_bytes = std::nullopt;
    options.validate = false;
    const auto make = [&]() -> Result<DumpWriter> {
        auto sink = open_file_sink(arguments[2], {.force = true});
        return sink ? DumpWriter::create(std::move(*sink), {}) : std::unexpected(sink.error());
    };
    Silence silence;
    const std::atomic<bool> cancelled = false;
    auto report = capture::capture_node(options, make, silence, cancelled);
    if (!report) {
        std::cerr << report.error().message << '\n';
        return 1;
    }
    return 0;
}
