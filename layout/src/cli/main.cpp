#include "cli/run.h"

#include <libdump/base/system/first_to_go.h>

#include <iostream>

int main(int argc, char** argv) {
    beamdump::be_first_to_go();
    return beamdump::layout::run({argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout, std::cerr);
}
