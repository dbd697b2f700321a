// Reads any bytes as a dump's records: they are put into frames whose checksums hold
// (records_dump.h).

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
