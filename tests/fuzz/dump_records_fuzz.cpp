// Reads arbitrary bytes as the records of a dump, in frames with valid checksums (records_dump.h).

#include "exhaust_reader.h"
#include "records_dump.h"
#include "support/memory_file.h"

#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace beamdump::test;
    if (const auto dump = dump_of(std::as_bytes(std::span(data, size)))) {
        exhaust_reader(MemoryFile(*dump).path());
    }
    return 0;
}
