#include "command/run.h"

#include <program/start.h>

int main(int argc, char** argv) {
    using beamdump::program::Streams;
    return beamdump::program::run_as_main(
        "beamdump-sample", [&](Streams& streams, const std::atomic<bool>& cancelled,
                               beamdump::target::StopTracker& stops) {
            return beamdump::sampler::run({argv + (argc > 0 ? 1 : 0), argv + argc}, streams,
                                          cancelled, stops);
        });
}
