#include "cli/run.h"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
    // When memory runs out beside a node that is examined, this process is the first to go. Where
    // that is not possible it goes on as well.
    std::ofstream("/proc/self/oom_score_adj") << 1000;
    return beamdump::layout::run({argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout, std::cerr);
}
