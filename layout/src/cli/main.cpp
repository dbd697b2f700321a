#include "cli/run.h"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
    // If memory runs out, the OOM killer should choose this process and not the node. Not an error
    // if it cannot be set.
    std::ofstream("/proc/self/oom_score_adj") << 1000;
    return beamdump::layout::run({argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout, std::cerr);
}
