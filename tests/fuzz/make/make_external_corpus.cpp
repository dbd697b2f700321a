// Makes the seeds of external_term_fuzz from what a real term_to_binary/1 made: some of the small
// terms of tests/unit/term/oracle. Usage: make_external_corpus ORACLE DIRECTORY

#include "unit/term/external_term.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using namespace beamdump::testing;

/// Every `step`th term of at most 300 bytes, one file each.
void write_seeds(const std::filesystem::path& oracle, const std::filesystem::path& to,
                 const std::string& name, std::size_t step, char by_release = 0) {
    constexpr std::size_t kLargest = 300;
    constexpr char kWholePieces = 0;
    constexpr char kVersionFirst = 1;
    std::ifstream lines(oracle / (name + ".txt"));
    std::size_t number = 0;
    for (std::string line, text; std::getline(lines, line) && std::getline(lines, text); ++number) {
        const auto bytes = decode_base64(line);
        if (number % step != 0 || bytes.size() > kLargest) {
            continue;
        }
        std::ofstream file(to / (name + "-" + std::to_string(number)), std::ios::binary);
        file.put(kWholePieces);
        file.put(static_cast<char>(kVersionFirst | by_release));
        file << bytes;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: make_external_corpus ORACLE DIRECTORY\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[2]);
    write_seeds(arguments[1], arguments[2], "terms", 9);
    write_seeds(arguments[1], arguments[2], "shuffled_maps", 29);
    constexpr char kOtp29 = 2;
    write_seeds(arguments[1], arguments[2], "native_records", 1, kOtp29);
    return 0;
}
