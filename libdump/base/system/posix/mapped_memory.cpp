#include <libdump/base/system/mapped_memory.h>

#include <cstring>
#include <sys/mman.h>

namespace beamdump::system {

void* map_memory(std::uint64_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
}

void* enlarge_mapping(void* begin, std::uint64_t bytes, std::uint64_t wanted, int file) {
    void* const larger = file < 0
                             ? map_memory(wanted)
                             : ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (larger != MAP_FAILED) {
        if (file < 0) {
            std::memcpy(larger, begin, bytes);
        }
        ::munmap(begin, bytes);
    }
    return larger;
}

}  // namespace beamdump::system
