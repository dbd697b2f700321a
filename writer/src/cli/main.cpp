#include "cli/run.h"

#include <libsample/profile/sample_node.h>
#include <program/start.h>

int main(int argc, char** argv) {
    using beamdump::program::Streams;
    return beamdump::program::run_as_main(
        "beamdump-capture", [&](Streams& streams, const std::atomic<bool>& cancelled,
                                beamdump::target::StopTracker& stops) {
            return beamdump::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, streams,
                                      beamdump::capture::capture_node, cancelled, &stops,
                                      beamdump::nodes::find_node, beamdump::sampler::sample_node);
        });
}
