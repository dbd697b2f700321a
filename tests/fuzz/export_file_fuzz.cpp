// Reads arbitrary bytes as an export (export ndjson), and all lines of each kind again.

#include "query/exported/export_file.h"
#include "support/temporary_directory.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace query = beamdump::query;
    static const beamdump::test::TemporaryDirectory directory;
    const std::string path = directory.path() / "fuzzed.ndjson";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    const auto file = query::ExportFile::open(path);
    if (!file) {
        return 0;
    }
    for (const query::ThingKind* kind : query::thing_kinds()) {
        std::uint64_t lines = 0;
        const auto visited =
            file->visit(*kind, [&lines](const query::ExportLine& /*line*/) { ++lines; });
        if (!visited || lines != file->count(*kind)) {
            std::abort();
        }
    }
    return 0;
}
