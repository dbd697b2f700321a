// Runs all commands of the program on a dump whose records are arbitrary bytes (records_dump.h).

#include "records_dump.h"
#include "run_commands.h"
#include "support/memory_file.h"

#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace beamdump::test;
    if (const auto dump = dump_of(std::as_bytes(std::span(data, size)))) {
        const MemoryFile file(*dump);
        run_commands(file.path());
    }
    return 0;
}
