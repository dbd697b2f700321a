// Asks the program everything about any bytes as a crash dump's text.

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
