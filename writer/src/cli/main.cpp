#include "cli/run.h"
#include "program/cancel.h"
#include "program/process.h"

#include <libdump/base/last_words.h>
#include <libdump/base/system_error.h>

#include <iostream>

int main(int argc, char** argv) try {
    namespace cli = beamdump::cli;
    namespace program = beamdump::program;
    namespace target = beamdump::target;
    beamdump::end_with_a_sentence_on_terminate();
    // Before any thread is made, and before this process offers itself when memory runs out.
    const auto guardian = target::Guardian::start();
    // Without the guardian no mode may stop the node; reading it while it runs remains possible.
    auto stops =
        guardian ? target::StopTracker(guardian->get()) : target::StopTracker(guardian.error());
    program::prepare_process();
    const auto signals = program::CancelOnSignal::start(stops);
    if (!signals) {
        std::cerr << "beamdump-capture: " << signals.error().message << '\n';
        return 1;
    }
    auto streams = program::standard_streams();
    streams.watched = [&signals](std::unique_ptr<beamdump::ByteSink> sink) {
        return (*signals)->watched(std::move(sink));
    };
    streams.finishing = [&signals] { (*signals)->finishing(); };
    return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, streams,
                    beamdump::capture::capture_node, (*signals)->cancelled(), &stops);
} catch (const std::exception& failure) {
    // An exception that no module caught; the stops' destructors have resumed the node.
    std::cerr << "beamdump-capture: " << beamdump::error_of(failure).message << '\n';
    return 1;
}
