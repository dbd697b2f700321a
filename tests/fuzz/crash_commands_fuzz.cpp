// Runs all commands of the program on arbitrary bytes as the text of a crash dump.

#include "run_commands.h"
#include "support/memory_file.h"

#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace beamdump::test;
    const MemoryFile file(std::as_bytes(std::span(data, size)));
    run_commands(file.path());
    return 0;
}
