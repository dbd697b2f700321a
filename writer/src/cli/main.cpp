#include "cli/cancel.h"
#include "cli/run.h"

#include <iostream>

int main(int argc, char** argv) {
    namespace cli = beamdump::cli;
    cli::prepare_process();
    const auto signals = cli::CancelOnSignal::start();
    if (!signals) {
        std::cerr << "beamdump-capture: " << signals.error().message << '\n';
        return 1;
    }
    auto streams = cli::standard_streams();
    return cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, streams,
                    beamdump::capture::capture_node, (*signals)->cancelled());
}
