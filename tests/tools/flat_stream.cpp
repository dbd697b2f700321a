// Writes a dump's records to standard output as a reader sees them: decompressed and decoded.

#include <libdump/read/dump_reader.h>

#include <algorithm>
#include <iostream>
#include <vector>

int main(int count, char** arguments) {
    using namespace beamdump;
    if (count != 2) {
        std::cerr << "usage: flat_stream DUMP\n";
        return 2;
    }
    auto reader = DumpReader::open(arguments[1]);
    if (!reader) {
        std::cerr << reader.error().message << '\n';
        return 1;
    }
    std::vector<std::byte> piece(1U << 20U);
    for (std::uint64_t at = 0; at < reader->flat_bytes();) {
        const auto part = std::span(piece).first(
            std::min<std::uint64_t>(piece.size(), reader->flat_bytes() - at));
        if (const auto read = reader->read(at, part); !read) {
            std::cerr << read.error().message << '\n';
            return 1;
        }
        std::cout.write(reinterpret_cast<const char*>(part.data()),
                        static_cast<std::streamsize>(part.size()));
        at += part.size();
    }
    return std::cout.flush() ? 0 : 1;
}
