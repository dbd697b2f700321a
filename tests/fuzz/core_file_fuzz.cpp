// Reads arbitrary bytes as an ELF core: headers, notes, memory and the command line on the stack.
// The files that the core names are not opened.

#include "support/memory_file.h"

#include <libvm/target/core/core_arguments.h>
#include <libvm/target/core/core_file.h>
#include <libvm/target/core/core_memory.h>

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>

namespace {

namespace memory = beamdump::memory;
namespace target = beamdump::target;

void read_all(const target::CoreFile& core, const std::filesystem::path& path) {
    target::CoreMemory source;
    const auto file =
        source.add_file(beamdump::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), "core");
    for (const auto& segment : core.segments()) {
        if (segment.here_bytes > segment.dumped_bytes ||
            segment.dumped_bytes > segment.range.bytes()) {
            std::abort();
        }
        source.add({segment.range.begin, segment.range.begin + segment.here_bytes}, file,
                   segment.file_offset);
    }
    for (const auto& segment : core.segments()) {
        const auto present = source.present(segment.range);
        if (!present) {
            std::abort();
        }
        for (const auto& part : *present) {
            if (!source.gaps(part).empty() || !source.value<std::byte>(part.begin)) {
                std::abort();
            }
        }
    }
    static_cast<void>(target::arguments_on_stack(core, source));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const beamdump::test::MemoryFile file(std::as_bytes(std::span(data, size)));
    if (const auto core = target::CoreFile::open(file.path())) {
        read_all(*core, file.path());
    }
    return 0;
}
