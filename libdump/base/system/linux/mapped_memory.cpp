#include <libdump/base/system/mapped_memory.h>

#include <sys/mman.h>

namespace beamdump::system {

void* map_memory(std::uint64_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void* enlarge_mapping(void* begin, std::uint64_t bytes, std::uint64_t wanted, int /*file*/) {
    return ::mremap(begin, bytes, wanted, MREMAP_MAYMOVE);
}

}  // namespace beamdump::system
