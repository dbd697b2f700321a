// Reads the record definitions of random bytes as a .beam file: must end, whatever they say.

#include <libdump/beam/beam_records.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = beamdump::beam_records({data, size});
    if (read && !read->has_information && !read->records.empty()) {
        std::abort();
    }
    return 0;
}
