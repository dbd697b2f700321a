// Runs a fuzz target over files, without a fuzzer: every file given, and every file in every
// directory given.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s: %zu bytes\n", path.c_str(), content.size());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
}

}  // namespace

int main(int count, char** arguments) {
    std::size_t replayed = 0;
    for (const std::filesystem::path argument :
         std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
        if (std::filesystem::is_directory(argument)) {
            for (const auto& entry : std::filesystem::directory_iterator(argument)) {
                replay(entry.path());
                ++replayed;
            }
        } else {
            replay(argument);
            ++replayed;
        }
    }
    std::fprintf(stderr, "%zu inputs\n", replayed);
    return replayed == 0 ? 1 : 0;
}
