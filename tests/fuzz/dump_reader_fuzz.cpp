// Reads any bytes as a dump's file. Behind the checksums little of this is reached by chance:
// dump_records_fuzz goes there.

#include "exhaust_reader.h"
#include "support/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const beamdump::test::MemoryFile file(std::as_bytes(std::span(data, size)));
    beamdump::test::exhaust_reader(file.path());
    return 0;
}
