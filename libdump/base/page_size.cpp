#include <libdump/base/page_size.h>

#include <unistd.h>

namespace beamdump {

std::uint64_t page_bytes() {
    static const auto kBytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return kBytes;
}

}  // namespace beamdump
