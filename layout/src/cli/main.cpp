#include "cli/run.h"

#include <iostream>

int main(int argc, char** argv) {
    return beamdump::layout::run({argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout, std::cerr);
}
