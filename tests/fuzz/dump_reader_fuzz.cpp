// Reads arbitrary bytes as a dump file. Random input rarely passes the checksums;
// dump_records_fuzz tests the code behind them.

#include "exhaust_reader.h"
#include "support/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const beamdump::test::MemoryFile file(std::as_bytes(std::span(data, size)));
    beamdump::test::exhaust_reader(file.path());
    return 0;
}
